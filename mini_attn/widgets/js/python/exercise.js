// An exercise that is done where it stands: its starter cell becomes an editor with a check.
import { escape } from "../core/text.js";
import { isAnswer } from "../progress/format.js";
import { add, announce, forget, keep, readKept, whenKept } from "../progress/store.js";
import { coverSolution } from "../progress/tries.js";
import { editors } from "./editors.js";
import { Stopped, python } from "./interpreter.js";
import { Output, checkRows, verdict } from "./output.js";

const SAVE_AFTER = 400; // milliseconds without a key
const SLOW_AFTER = 8000; // milliseconds after which a run is said to go on
const CONTROL = /^Mac|iP(hone|ad|od)/.test(globalThis.navigator?.platform ?? "") ? "Cmd" : "Ctrl";
const button = (action, words) => `<button type="button" data-do="${action}">${words}</button>`;
export const PHASES = {
  core: "Python is starting. The first time, 19 MB have to come from this site.",
  package: "Python runs; NumPy and the checks are loading.",
};

const frame = (id, title) => `<div class="here-app" role="group" aria-label="Exercise: ${escape(title)}" hidden>
  <div class="here-editor"></div>
  <p class="here-note" id="${id}-keys">${CONTROL}+Enter checks, Shift+Enter runs; Escape, then Tab leaves the editor.</p>
  <div class="living-buttons">${button("check", "Check")}${button("run", "Run")}${button("stop", "Stop")}${button("reset", "Reset")}</div>
  <p class="here-status" role="status"></p>
  <div class="here-rows"></div>
  <div class="here-output" hidden></div></div>`;

class Exercise {
  constructor(root) {
    const data = JSON.parse(root.querySelector("script").textContent);
    Object.assign(this, { root, ...data, key: `${data.page}/${data.id}`, editor: null, busy: false });
    this.cells = document.querySelectorAll(`.exercise-cell-${CSS.escape(this.id)}`);
    this.place = root.querySelector(".here-place");
    this.place.innerHTML = `<p class="here-open">${button("open", "Do it here")} <span class="here-note"></span></p>${frame(`here-${this.id}`, this.title)}`;
    this.tried = coverSolution(this);
    this.output = new Output(this.part(".here-output"));
    root.classList.add("living"); // the look of the pictures, and no place for one
    root.hidden = false;
    root.addEventListener("click", (event) => this.press(event.target.closest("[data-do]")?.dataset.do));
    addEventListener("pagehide", () => this.save());
    root.addEventListener("focusout", () => this.save()); // who leaves the editor may hand in at once
    whenKept(() => this.recall());
    this.recall();
    this.showBusy(false);
  }

  part(selector) {
    return this.place.querySelector(selector);
  }

  press(action) {
    if (action === "open") this.open();
    else if (action === "stop") python.stop();
    else if (action === "reset") this.reset();
    else if (action === "check" || action === "run") this.work(action);
  }

  // What the browser has kept: code and state. Shown beside the button, and in an open editor
  // that nobody is writing in.
  recall() {
    const code = readKept("answers", this.key)?.code;
    const kept = isAnswer(code) ? code : null;
    const others = kept !== this.kept; // came from elsewhere, not from this editor
    if (this.editor && others && this.editor.text() === this.saved) {
      this.saved = kept ?? this.starter;
      this.editor.write(this.saved);
    }
    if (!this.editor) this.saved = kept ?? this.starter;
    this.kept = kept;
    const state = readKept("exercises", this.key)?.state;
    const words = { solved: "Solved. ", done: "Done. ", tried: "Tried. " }[state] ?? "";
    this.part(".here-open .here-note").textContent = `${words}${kept ? "Your code is kept in this browser." : "Python runs in this page; nothing is installed."}`;
  }

  async open() {
    if (this.editor || this.opening) return;
    this.opening = true;
    this.part("[data-do=open]").textContent = "Opening …";
    // Both at once: while one reads the task, Python starts.
    const quiet = (words) => this.busy || this.say(words); // who has asked for more hears of that
    python.start({ tell: (kind, text) => this.busy || this.hear(kind, text) })
      .then(() => quiet(""), (reason) => quiet(reason.message));
    try {
      const make = await editors();
      this.part(".here-app").hidden = false;
      this.editor = make(this.part(".here-editor"), {
        text: this.saved, label: `Your code for ${this.title}`, describedby: `here-${this.id}-keys`,
        changed: () => this.later(), keys: { "Mod-Enter": () => this.work("check"), "Shift-Enter": () => this.work("run") },
      });
      this.part(".here-open").hidden = true;
      for (const cell of this.cells) cell.hidden = true;
      this.editor.focus();
    } catch (reason) {
      this.part("[data-do=open]").textContent = "Do it here";
      this.part(".here-open .here-note").textContent = reason.message;
    }
    this.opening = false;
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(), SAVE_AFTER);
  }

  save() {
    clearTimeout(this.timer);
    const code = this.editor?.text() ?? this.saved;
    if (code === this.saved) return;
    if (code.trim() && !isAnswer(code)) {
      this.say("This is too long to be kept: it lasts until you leave the page.");
      return;
    }
    this.saved = code;
    this.kept = code === this.starter || !code.trim() ? null : code;
    if (this.kept === null) forget("answers", this.key);
    else keep("answers", this.key, { code });
    announce();
  }

  reset() {
    this.editor.write(this.starter);
    this.save();
    this.clear();
    this.say(`Back at the starter. ${CONTROL}+Z in the editor brings your code back.`);
    this.editor.focus();
  }

  clear() {
    this.output.clear();
    this.part(".here-rows").replaceChildren();
  }

  say(words, unseen = "") {
    this.part(".here-status").innerHTML = `${escape(words)}${unseen && `<span class="here-unseen"> ${escape(unseen)}</span>`}`;
  }

  showBusy(busy) {
    this.busy = busy;
    for (const action of ["check", "run", "reset"]) this.part(`[data-do=${action}]`).setAttribute("aria-disabled", String(busy));
    this.part("[data-do=stop]").hidden = !busy;
  }

  hear(kind, text) {
    if (kind === "phase") this.say(PHASES[text]);
    else if (kind === "loading") this.say(`Loading ${text}, the first time it is used here …`);
    else this.output.tell(kind, text);
  }

  async work(ask) {
    if (this.busy) return;
    this.save();
    this.clear();
    this.say(python.state === "starting" ? PHASES.core : ask === "check" ? "Checking …" : "Running …");
    this.showBusy(true);
    const slow = setTimeout(() => this.say("Still running. Stop ends it, and with it all that Python holds."), SLOW_AFTER);
    const tell = (kind, text) => this.hear(kind, text);
    const code = this.editor.text();
    try {
      if (ask === "check") this.told(await python.check(this.id, code, { tell }), code);
      else {
        this.output.finish(await python.run(code, { name: this.id, tell }));
        this.say("Done.");
      }
    } catch (reason) {
      this.say(reason instanceof Stopped
        ? "Stopped. What Python held is gone; your code is not. Check or Run starts Python anew." : reason.message);
    }
    clearTimeout(slow);
    const held = this.part("[data-do=stop]") === document.activeElement;
    this.showBusy(false);
    if (held) this.part("[data-do=check]").focus();
  }

  told(result, code) {
    this.output.finish(result, { value: false });
    this.part(".here-rows").innerHTML = checkRows(result.report);
    this.say(...verdict(result.report));
    this.root.dataset.verdict = result.report.state;
    add(result.kept);
    if (result.report.state !== "not attempted") this.tried(code);
    announce();
  }
}

export function mountExercises() {
  for (const root of document.querySelectorAll(".here")) new Exercise(root);
}
