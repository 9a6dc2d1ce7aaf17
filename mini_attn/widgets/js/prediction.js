// A prediction: the reader commits to a number, and is told which idea is missing.
// It has no picture, so it brings its own view; `judge` is the pure part.
import { escape } from "./core/text.js";
import { validate } from "./core/schema.js";
import questions from "./data/questions.json" with { type: "json" };
import { format, judge } from "./prediction_judge.js";
import schema from "./schema/prediction.json" with { type: "json" };

const QUESTIONS = new Map(questions.map((question) => [question.key, question]));
const LEADS = { right: "Right.", mistake: "Not yet.", wrong: "Not yet.", unread: "" };
const SIGNS = { right: "✓", mistake: "✗", wrong: "✗", unread: "!", shown: "→" };
let views = 0;

// `code` is the only markup that a question may hold.
const inline = (text) => escape(text).replace(/`([^`]*)`/g, "<code>$1</code>");

function answerText(question) {
  return `The answer is ${format(question.answer)} ${question.unit}. ${question.explanation}`;
}

// The last attempt survives a reload where the browser lets a page keep something.
function storage(key) {
  const name = `living:prediction:${key}`;
  const quietly = (action) => {
    try {
      return action();
    } catch {
      return null; // private windows and folders may have no storage: the page works without
    }
  };
  return {
    read() {
      const kept = quietly(() => JSON.parse(localStorage.getItem(name)));
      if (!kept || validate(schema, { attempt: kept.attempt }).error) return null;
      return { attempt: kept.attempt, shown: kept.shown === true };
    },
    write: (value) => quietly(() => localStorage.setItem(name, JSON.stringify(value))),
    clear: () => quietly(() => localStorage.removeItem(name)),
  };
}

const frame = (question, id) => `<div class="living-app predict" role="group" aria-labelledby="${id}-text">
  <p class="predict-kicker" aria-hidden="true">Predict</p>
  <p class="predict-text" id="${id}-text">${inline(question.text)}</p>
  <form class="predict-form" autocomplete="off" novalidate>
    <label for="${id}-answer">Your answer</label>
    <span class="predict-entry"><input type="text" inputmode="decimal" id="${id}-answer" maxlength="${schema.attempt.max}"
      spellcheck="false" aria-describedby="${id}-unit ${id}-feedback"><span class="predict-unit" id="${id}-unit">${escape(question.unit)}</span></span>
    <button type="submit" class="predict-check">Check</button>
  </form>
  <p class="predict-feedback" id="${id}-feedback" role="status" tabindex="-1"></p>
  <p class="predict-more"><button type="button" data-do="show" hidden>Show the answer</button>
    <button type="button" data-do="again" hidden>Start again</button></p></div>`;

function mount(root, model) {
  const checked = validate(schema, { question: model.get("question"), attempt: model.get("attempt") ?? "" });
  if (checked.error) {
    root.textContent = `This prediction cannot be shown: ${checked.error}.`;
    return () => {};
  }
  const question = QUESTIONS.get(checked.state.question);
  root.innerHTML = frame(question, `predict-${++views}`);
  const part = (selector) => root.querySelector(selector);
  const [input, feedback] = [part("input"), part(".predict-feedback")];
  const kept = storage(question.key);
  const onPage = root.closest(".living[data-widget]") !== null; // a notebook keeps its own state
  let shown = false;

  function say(kind, words) {
    feedback.dataset.verdict = kind;
    feedback.innerHTML = kind
      ? `<span class="predict-sign" aria-hidden="true">${SIGNS[kind]}</span><span>${inline(words)}</span>` : "";
  }

  function render(attempt) {
    const { verdict, message } = attempt || shown ? judge(question, attempt) : { verdict: "" };
    if (shown && verdict !== "right") say("shown", answerText(question));
    else if (verdict) say(verdict, `${LEADS[verdict]} ${message}`.trim());
    else say("", "");
    input.toggleAttribute("aria-invalid", verdict === "unread" && !shown);
    part("[data-do=show]").hidden = shown || !["mistake", "wrong"].includes(verdict);
    part("[data-do=again]").hidden = !shown && !["right", "mistake", "wrong"].includes(verdict);
  }

  function keep(attempt) {
    if (onPage) kept.write({ attempt, shown });
    if (model.get("attempt") !== attempt) {
      model.set("attempt", attempt);
      model.save_changes();
    }
  }

  function check(event) {
    event.preventDefault();
    shown = false;
    const attempt = input.value.trim();
    if (attempt) keep(attempt);
    render(attempt);
    if (!attempt) say("unread", judge(question, "").message);
  }

  function press(event) {
    const action = event.target.dataset.do;
    if (!action) return;
    shown = action === "show";
    if (shown) keep(input.value.trim());
    else {
      input.value = "";
      keep("");
      kept.clear();
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
  const before = onPage ? kept.read() : null;
  shown = before?.shown ?? false;
  input.value = before?.attempt ?? checked.state.attempt;
  render(input.value);
  return () => model.off("change:attempt", changed);
}

export default {
  name: "prediction", version: 1, title: "Prediction", questions: QUESTIONS, inline, mount,
};
