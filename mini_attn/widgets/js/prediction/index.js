// A prediction: the reader commits to a number, and is told which idea is missing.
// It has no picture, so it brings its own view; `judge` is the pure part.
import { validate } from "../core/schema.js";
import { escape } from "../core/text.js";
import { isAttempt } from "../progress/format.js";
import { announce, forget, keep as store, readKept, whenKept } from "../progress/store.js";
import { format, judge } from "../questions/judge.js";
import { attempt as ATTEMPT } from "./schema.json"; // the list of all keys stays out

const schema = { attempt: ATTEMPT };
const LEADS = { right: "Right.", mistake: "Not yet.", wrong: "Not yet.", unread: "" };
const SIGNS = { right: "✓", mistake: "✗", wrong: "✗", unread: "!", shown: "→" };
let views = 0;

// `code` is the only markup that a question may hold.
const inline = (text) => escape(text).replace(/`([^`]*)`/g, "<code>$1</code>");

function answerText(question) {
  return `The answer is ${format(question.answer)} ${question.unit}. ${question.explanation}`;
}

// What the storage holds of a question: the last attempt, and a right one even after later tries.
function keptOf(question) {
  const kept = readKept("predictions", question.key);
  if (!kept || validate(schema, { attempt: kept.attempt }).error) return null;
  const right = isAttempt(kept.solved) && judge(question, kept.solved).verdict === "right";
  return { attempt: kept.attempt, shown: kept.shown === true, verdict: kept.verdict, solved: right ? kept.solved : undefined };
}

const frame = (question, id) => `<div class="living-app predict" role="group" aria-labelledby="${id}-text">
  <p class="predict-kicker" aria-hidden="true">Predict</p>
  <p class="predict-text" id="${id}-text">${inline(question.text)}</p>
  <form class="predict-form" autocomplete="off" novalidate>
    <label for="${id}-answer">Your answer</label>
    <span class="predict-entry"><input type="text" autocapitalize="none" id="${id}-answer" maxlength="${schema.attempt.max}"
      spellcheck="false" aria-describedby="${id}-unit ${id}-feedback"><span class="predict-unit" id="${id}-unit">${escape(question.unit)}</span></span>
    <button type="submit" class="predict-check">Check</button>
    <span class="predict-more"><button type="button" data-do="show"></button><button type="button" data-do="again" hidden>Start again</button></span>
  </form>
  <p class="predict-feedback" id="${id}-feedback" role="status" tabindex="-1"></p></div>`;

function mount(question, root, model) {
  const checked = validate(schema, { attempt: model.get("attempt") ?? "" });
  if (checked.error) {
    root.textContent = `This prediction cannot be shown: ${checked.error}.`;
    return () => {};
  }
  root.innerHTML = frame(question, `predict-${++views}`);
  const part = (selector) => root.querySelector(selector);
  const [input, feedback] = [part("input"), part(".predict-feedback")];
  let shown = false;
  let last = null; // what was kept when it was read or written here

  function say(kind, words) {
    feedback.dataset.verdict = kind;
    feedback.innerHTML = kind
      ? `<span class="predict-sign" aria-hidden="true">${SIGNS[kind]}</span><span>${inline(words)}</span>` : "";
  }

  function render(attempt, asked = attempt || shown) {
    const { verdict, message } = asked ? judge(question, attempt) : { verdict: "" };
    if (shown && verdict !== "right") say("shown", answerText(question));
    else if (verdict) say(verdict, `${LEADS[verdict]} ${message}`.trim());
    else say("", "");
    input.toggleAttribute("aria-invalid", verdict === "unread" && !shown);
    const guessed = ["mistake", "wrong"].includes(verdict);
    const show = part("[data-do=show]");
    show.textContent = guessed ? "Show the answer" : "Show me without guessing";
    show.hidden = shown || verdict === "right";
    part("[data-do=again]").hidden = !shown && !guessed && verdict !== "right";
  }

  const now = () => JSON.stringify(readKept("predictions", question.key));

  function keep(attempt) {
    const verdict = attempt ? judge(question, attempt).verdict : "";
    const solved = verdict === "right" ? attempt : keptOf(question)?.solved;
    store("predictions", question.key, { attempt, shown, verdict, solved });
    last = now();
    announce();
    tell(attempt);
  }

  function tell(attempt) {
    if (model.get("attempt") !== attempt) {
      model.set("attempt", attempt);
      model.save_changes();
    }
  }

  function check(event) {
    event.preventDefault();
    shown = false;
    const attempt = input.value.trim();
    // What cannot be read takes back no answer that was given before.
    if (judge(question, attempt).verdict !== "unread") keep(attempt);
    else if (attempt) tell(attempt);
    render(attempt, true);
  }

  function press(event) {
    const action = event.target.dataset.do;
    if (!action) return;
    shown = action === "show";
    if (shown) keep(input.value.trim());
    else {
      input.value = "";
      forget("predictions", question.key);
      last = now();
      announce();
      tell("");
    }
    render(input.value.trim());
    (shown ? feedback : input).focus();
  }

  const changed = () => {
    const attempt = String(model.get("attempt") ?? "");
    if (attempt === input.value.trim()) return;
    input.value = attempt;
    render(attempt);
  };
  part("form").addEventListener("submit", check);
  part(".predict-more").addEventListener("click", press);
  model.on("change:attempt", changed);
  // An answer that is kept comes back, unless a cell has written another one.
  function recall() {
    const before = keptOf(question);
    last = now();
    shown = before?.shown ?? false;
    input.value = before?.attempt ?? "";
    if (input.value && judge(question, input.value).verdict !== before.verdict) keep(input.value);
    else tell(input.value);
    render(input.value);
  }

  if (checked.state.attempt) {
    input.value = checked.state.attempt;
    render(input.value);
  } else recall();
  const stop = whenKept(() => now() !== last && recall());
  return () => {
    stop();
    model.off("change:attempt", changed);
  };
}

const made = (question) => ({ name: "prediction", title: "Prediction", mount: (root, model) => mount(question, root, model) });

// A page or a notebook brings the question along; a page that holds none shows what was built.
function given(box, model) {
  if (model) return made(model.get("_question"));
  try {
    return made(JSON.parse(box.querySelector("script[data-question]").textContent));
  } catch {
    return null;
  }
}

export default { name: "prediction", title: "Prediction", inline, given };
