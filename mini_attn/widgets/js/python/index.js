// Python in the page, a script of its own that nothing waits for: it offers, and loads nothing
// before somebody asks.
import { mountCells } from "./cells.js";
import { mountExercises } from "./exercise.js";
import { python } from "./interpreter.js";

// One line where the exercises begin, and nothing else changes.
function refuse(words) {
  const first = document.querySelector(".here");
  if (!first) return;
  const notebook = document.querySelector("a.run-download")?.getAttribute("href");
  const place = first.querySelector(".here-place");
  place.innerHTML = `<p class="here-open">${words}${notebook ? " <a download>The notebook</a> has all exercises." : ""}</p>`;
  if (notebook) place.querySelector("a").href = notebook;
  first.classList.add("living");
  first.hidden = false;
}

function mount() {
  mountExercises();
  mountCells();
}

python.refusal ? refuse(python.refusal) : mount();
