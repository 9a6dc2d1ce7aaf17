// The bug clinic: which cases are found, as the reader's progress has it, and which are shown. The
// filters' state is in the address. A script of its own for the one page.
import { fromHash, toHash } from "../core/hash.js";
import { defaults, validate } from "../core/schema.js";
import { count } from "../core/text.js";
import { readKept, whenKept } from "../progress/store.js";

const NAME = "clinic";
const bar = document.querySelector(".clinic-bar");
const cases = [...document.querySelectorAll(".case")];
const { topic, difficulty, open } = bar.elements;
const choices = (select) => ({ type: "enum", values: [...select.options].map(({ value }) => value), default: "all" });
const schema = { topic: choices(topic), difficulty: choices(difficulty), open: { type: "bool", default: false } };
const STATES = { solved: "✓ found", done: "✓ found", tried: "tried" };

const stateOf = ({ dataset }) => STATES[readKept("exercises", dataset.case)?.state] ?? "";
const isFound = (one) => stateOf(one) === STATES.solved;
const chosen = () => ({ topic: topic.value, difficulty: difficulty.value, open: open.checked });

function choose(state) {
  [topic.value, difficulty.value, open.checked] = [state.topic, state.difficulty, state.open];
}

function fits(one, state) {
  return (state.topic === "all" || one.dataset.topic === state.topic)
    && (state.difficulty === "all" || one.dataset.difficulty === state.difficulty)
    && !(state.open && isFound(one));
}

// A case that is being repaired stays, also once it's found: its reader is still reading it.
function show({ all = true } = {}) {
  const state = chosen();
  for (const one of cases) {
    const word = stateOf(one);
    const line = one.querySelector(".case-state");
    if (line.textContent !== word) line.textContent = word;
    line.hidden = !word;
    line.classList.toggle("case-found", isFound(one));
    one.querySelector(".case-title").hidden = !isFound(one);
    const shipped = one.querySelector(".case-shipped");
    if (!shipped) one.querySelector(".case-made-up").hidden = !isFound(one);
    else if (isFound(one)) shipped.open = true;
    if (all || !one.contains(document.activeElement)) one.hidden = !fits(one, state);
  }
  const shown = cases.filter((one) => !one.hidden).length;
  bar.querySelector(".clinic-found b").textContent = cases.filter(isFound).length;
  bar.querySelector(".clinic-shown").textContent = shown ? count(shown, "case") : "No case is left: change a filter.";
}

// A state of the filters, or a case that a chapter leads to: that one is opened, whatever is hidden.
function follow() {
  const one = cases.find(({ id }) => `#${id}` === location.hash);
  if (one) choose(defaults(schema));
  else choose(validate(schema, fromHash(NAME, schema, location.hash) ?? chosen()).state);
  show();
  if (!one) return;
  one.querySelector("details").open = true;
  one.scrollIntoView();
}

bar.addEventListener("change", () => {
  history.replaceState(history.state, "", toHash(NAME, schema, chosen()));
  show();
});
bar.addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", follow);
whenKept(() => show({ all: false }));
follow();
