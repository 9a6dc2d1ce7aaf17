// What a cell prints, draws and gives, below it. Everything from Python is text or a picture.
import { escape } from "../core/text.js";

const whole = new Intl.NumberFormat("en-US");

// The last word on a run: what was cut, and how long it took.
export function footWords({ cut, seconds }) {
  const parts = [];
  if (cut) parts.push(`${whole.format(cut)} more characters were printed and are not shown.`);
  if (seconds >= 0.5) parts.push(`${seconds.toFixed(1)} s.`);
  return parts.join(" ");
}

export class Output {
  constructor(root) {
    this.root = root;
    this.clear();
  }

  clear() {
    this.root.replaceChildren();
    this.root.hidden = true;
    this.figures = 0;
  }

  add(element) {
    this.root.append(element);
    this.root.hidden = false;
    return element;
  }

  text(kind, text) {
    const last = this.root.lastElementChild;
    const box = last?.dataset.kind === kind ? last : this.add(document.createElement("pre"));
    box.dataset.kind = kind;
    box.append(text);
  }

  // Hears what an interpreter tells while code runs.
  tell(kind, text) {
    if (kind === "stdout" || kind === "stderr") this.text(kind, text);
    else if (kind === "figure") this.figure(text);
    else if (kind === "loaded") this.note(`Loaded ${text}.`);
  }

  figure(address) {
    const picture = this.add(document.createElement("img"));
    this.figures += 1;
    Object.assign(picture, { src: address, alt: `Figure ${this.figures} that this cell draws` });
  }

  note(words) {
    this.add(Object.assign(document.createElement("p"), { className: "here-note", textContent: words }));
  }

  // The end of a run: the value of the last expression, or the error.
  finish(result, { value = true } = {}) {
    if (result.error) this.text("error", result.error);
    else if (value && result.value !== null && result.value !== undefined) this.text("value", result.value);
    const foot = footWords(result);
    if (foot) this.note(foot);
  }
}

const SIGNS = { passed: "✓", failed: "✗", "not reached": "○" };

// A row for each check: passed, failed with the missing idea, or not reached.
export function checkRows({ checks, message, notes }) {
  const rows = checks.map(({ name, state }) => {
    const words = state === "failed" ? `: ${escape(message)}` : "";
    return `<li data-state="${state.replace(" ", "-")}"><span aria-hidden="true">${SIGNS[state]}</span> <b>${escape(name)}</b>${words}<span class="here-unseen"> (${state})</span></li>`;
  });
  const advice = notes.map((note) => `<p class="here-note">Note: ${escape(note)}.</p>`);
  return `<ul class="here-checks">${rows.join("")}</ul>${advice.join("")}`;
}

// The verdict, and what is missing: the eye finds that in the rows, a screen reader is told it.
export function verdict({ state, points, of, checks, message }) {
  const failed = checks.find((check) => check.state === "failed");
  const worth = `${points} of ${of} points`;
  if (state === "solved") return [`Solved, ${worth}.`, ""];
  return [`${state === "not attempted" ? "Not attempted" : "Not yet"}, ${worth}.`, `${failed.name}: ${message}`];
}
