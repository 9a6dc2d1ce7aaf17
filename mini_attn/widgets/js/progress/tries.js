// In a book for people who learn alone, the solution of an assessed exercise opens after three
// tries. A try is an answer that a check has judged and that differs from those before it. Without
// scripts, and where no check can run, the solution is an ordinary step of the help.
import { count } from "../core/text.js";
import { keepText, readKept, textOf, whenKept } from "./store.js";

export const ENOUGH = 3;
const triesOf = (key) => (textOf(`living:tries:${key}`) ?? "").split(",").filter(Boolean);

// A number that stands for a text: it only has to tell one answer from the next.
export const digest = (text) => [...text].reduce((sum, char) => (sum * 31 + char.codePointAt(0)) % 2147483647, 7).toString(36);

// Covers the solution, if the page has one; gives what is to be told of each answer.
export function coverSolution({ id, key }) {
  const step = document.querySelector(`#model-${CSS.escape(id)}[data-assessed]`);
  if (!step) return () => {};
  const note = Object.assign(document.createElement("p"), { className: "exercise-tries" });
  note.setAttribute("role", "status");
  step.before(note);

  function draw() {
    const made = triesOf(key).length;
    const isCovered = made < ENOUGH && readKept("exercises", key)?.state !== "solved";
    step.hidden = isCovered;
    note.hidden = !isCovered;
    note.textContent = isCovered ? `A solution opens here after ${ENOUGH} different tries. So far: ${made ? count(made, "try", "tries") : "none"}.` : "";
  }

  whenKept(draw);
  draw();
  return (answer) => {
    const tries = triesOf(key);
    const now = digest(answer.trim());
    if (!tries.includes(now) && tries.length < ENOUGH) keepText(`living:tries:${key}`, [...tries, now].join(","));
    draw();
  };
}
