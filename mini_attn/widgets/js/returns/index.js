// What returns, where something is due: each row opens its question, and the first answer decides
// when it's asked again. The questions of a page come as a script when one of them is opened, as a
// page that was opened as a file may load no data.
import { announce, keep, readKept } from "../progress/store.js";
import { after, dayNumber, dueOn, today } from "./days.js";
import { askClaim, askNumber } from "./forms.js";
import { turn } from "./switch.js";

const root = document.querySelector(".returns");
const pages = new Map(); // the questions of a page, once they are asked for

globalThis.livingReturned = (page, questions) => pages.get(page).given(questions);

function questionsOf(page) {
  if (!pages.has(page)) {
    const script = document.createElement("script");
    script.src = root.dataset.questions.replace("{page}", page);
    const waiting = {};
    waiting.promise = new Promise((given, failed) => {
      waiting.given = given;
      script.onerror = () => {
        pages.delete(page);
        failed(new Error("The question didn't come. Close this and open it again."));
      };
    });
    pages.set(page, waiting);
    document.head.append(script);
  }
  return pages.get(page).promise;
}

function when(entry, now) {
  const day = dueOn(entry);
  if (day === null) return "✓ done: it won't come back";
  const days = dayNumber(day) - dayNumber(now);
  return `${entry.rung ? "✓ " : ""}comes back ${days === 1 ? "tomorrow" : `in ${days} days`}`;
}

// Of several drawings, another one each day; the chapter's own where there's no other.
const chosen = (drawn, now) => (drawn.length > 1 ? 1 + (dayNumber(now) % (drawn.length - 1)) : 0);

async function open(row) {
  const { key } = row.dataset;
  const [page, name] = key.split("/");
  const place = row.querySelector(".return-place");
  if (place.firstChild && !place.dataset.failed) return;
  place.textContent = "Loading …";
  delete place.dataset.failed;
  let told = false;
  const answered = (right) => {
    if (told) return;
    told = true;
    const now = today();
    const entry = after(readKept("returns", key), right, now);
    keep("returns", key, entry);
    announce();
    row.querySelector(".return-state").textContent = when(entry, now);
    row.classList.toggle("return-right", right);
  };
  try {
    const { link, drawn, claim } = (await questionsOf(page))[name];
    const about = { id: `return-${page}-${name}`, link, answered };
    if (claim) askClaim(place, claim, about);
    else {
      const number = chosen(drawn, today());
      askNumber(place, drawn[number], { ...about, fresh: number > 0 });
    }
  } catch (reason) {
    place.dataset.failed = "true";
    place.textContent = reason.message;
  }
}

for (const row of root.querySelectorAll(".return")) row.addEventListener("toggle", () => row.open && open(row));
root.addEventListener("change", ({ target }) => {
  if (target.dataset.do !== "returns") return;
  turn(target.checked);
  root.querySelector(".returns-said").textContent = target.checked ? "" : "From now on, nothing comes back. The same switch is below your progress, on the page About this book.";
});
