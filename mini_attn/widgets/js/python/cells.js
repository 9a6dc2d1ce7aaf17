// The cells of a chapter, run where they stand: in the order of the page, in the page's one
// Python. Nothing comes before the first click; what the page was built with is one click away.
import { count } from "../core/text.js";
import { editors } from "./editors.js";
import { PHASES } from "./exercise.js";
import { Stopped, python } from "./interpreter.js";
import { missingBefore, runs } from "./order.js";
import { Output } from "./output.js";

const button = (action, words, label = words) => `<button type="button" data-do="${action}" aria-label="${label}">${words}</button>`;
const NO_TORCH = "Not run here: it needs PyTorch, which runs in no browser. What the page was built with is below.";

class Cell {
  constructor([number, kind, source], page) {
    Object.assign(this, { number, kind, source, page, editor: null });
    this.place = document.querySelector(`.page-cell-${number}`);
    if (this.place && kind === "run") this.offer();
    else if (this.place?.matches(".page-cell-torch")) this.explain(NO_TORCH);
  }

  get code() {
    return this.editor?.text() ?? this.source;
  }

  get name() {
    return `cell ${this.page.shown(this)}`;
  }

  box(className) {
    const box = document.createElement("div");
    box.className = `living ${className}`;
    this.place.insertBefore(box, this.place.querySelector(":scope > .cell_output"));
    return box;
  }

  explain(words) {
    this.box("cell-here").innerHTML = `<p class="here-note">${words}</p>`;
  }

  offer() {
    this.root = this.box("cell-here");
    const of = this.name;
    this.root.innerHTML = `<div class="here-editor cell-editor" hidden></div>
      <div class="cell-bar">${button("run", "Run", `Run ${of}`)}${button("edit", "Edit", `Edit ${of}`)}${button("stop", "Stop", `Stop ${of}`)}${button("original", "Original", `Original of ${of}`)}
      <span class="cell-said" role="status"></span></div>
      <div class="cell-ask" hidden>${button("to-here", "Run from the top to here")}${button("only", "Run only this cell")}</div>
      <div class="here-output cell-output" role="group" aria-label="Output of ${of}" hidden></div>`;
    this.output = new Output(this.part(".cell-output"));
    this.input = this.place.querySelector(":scope > .cell-fold") ?? this.place.querySelector(".cell_input");
    this.stored = this.place.querySelector(".cell_output");
    this.root.addEventListener("click", ({ target }) => this.press(target.closest("[data-do]")?.dataset.do));
    this.place.addEventListener("click", ({ pointerType }) => pointerType === "mouse" || this.page.tap(this.place)); // a finger cannot hover
    this.show({ busy: false, changed: false });
  }

  part(selector) {
    return this.root.querySelector(selector);
  }

  say(words) {
    if (!this.root) return;
    this.part(".cell-said").textContent = words;
    this.root.classList.add("cell-used"); // from now on its bar stays
  }

  show({ busy = this.busy, changed = this.changed }) {
    Object.assign(this, { busy, changed });
    this.part("[data-do=run]").setAttribute("aria-disabled", String(busy));
    this.part("[data-do=stop]").hidden = !busy;
    this.part("[data-do=edit]").hidden = Boolean(this.editor);
    this.part("[data-do=original]").hidden = !changed || busy;
  }

  press(action) {
    if (action === "stop") python.stop();
    else if (action === "edit") this.edit();
    else if (action === "original") this.restore();
    else if (action === "run") this.wanted();
    else if (action === "only") this.page.run([this]);
    else if (action === "to-here") this.page.runTo(this);
  }

  // A cell builds on those above it.
  wanted() {
    if (this.busy) return;
    const missing = this.page.missing(this);
    if (!missing.length) {
      this.page.run([this]);
      return;
    }
    const gone = python.state === "gone" ? "Python was ended, and what it held is gone. " : "";
    this.say(`${gone}${count(missing.length, "cell")} above ${missing.length === 1 ? "has" : "have"} not run.`);
    this.part(".cell-ask").hidden = false;
    this.part("[data-do=to-here]").focus();
  }

  async edit() {
    try {
      const make = await editors();
      if (this.editor) return;
      this.part(".cell-editor").hidden = false;
      this.editor = make(this.part(".cell-editor"), {
        text: this.source, label: `Code of ${this.name}. Escape, then Tab leaves the editor.`, describedby: "",
        keys: { "Shift-Enter": () => this.wanted(), "Mod-Enter": () => this.wanted() },
      });
      this.input.hidden = true;
      this.show({ changed: true });
      this.say("Shift+Enter runs; Escape, then Tab leaves the editor.");
      this.editor.focus();
    } catch (reason) {
      this.say(reason.message);
    }
  }

  restore() {
    this.editor?.remove();
    this.editor = null;
    this.part(".cell-editor").hidden = true;
    this.part(".cell-ask").hidden = true;
    this.output.clear();
    this.input.hidden = false;
    if (this.stored) this.stored.hidden = false;
    this.show({ changed: false });
    this.say("As the page was built; what has run stays in Python.");
    this.part("[data-do=run]").focus();
  }

  begin() {
    if (!this.root) return;
    this.part(".cell-ask").hidden = true;
    this.output.clear();
    if (this.stored) this.stored.hidden = true;
    this.show({ busy: true, changed: true });
    this.say(python.state === "none" || python.state === "gone" ? PHASES.core : "Running …");
  }

  hear(kind, text) {
    if (kind === "phase") this.page.now?.say(PHASES[text]);
    else if (kind === "loading") this.say(`Loading ${text}, the first time it is used here …`);
    else this.output?.tell(kind, text);
  }

  // The end of a run; a hidden cell has only its error to tell, and the one that waits tells it.
  finish(result) {
    if (!this.root) return;
    this.output.finish(result);
    this.say(result.error ? "An error ended it." : "Done.");
    this.end();
  }

  end() {
    if (!this.root) return;
    const held = document.activeElement === this.part("[data-do=stop]");
    this.show({ busy: false });
    if (held) this.part("[data-do=run]").focus();
  }

  // After Stop, or where Python does not come: the stored output stands there again.
  broke(reason) {
    if (!this.root) return;
    const stopped = reason instanceof Stopped;
    if (this.stored && !this.output.root.firstChild) this.stored.hidden = false;
    this.say(stopped ? "Stopped. What Python held is gone." : reason.message);
    this.part(".cell-ask").hidden = !stopped;
    this.end();
  }
}

class Cells {
  constructor(data) {
    this.ran = new Map(); // by the cell's number: the life of Python in which it ran
    this.order = data.map(([number]) => number);
    this.cells = data.map((one) => new Cell(one, this));
  }

  // A reader counts the cells from 1.
  shown({ number }) {
    return this.order.indexOf(number) + 1;
  }

  // The bar of one cell at a time.
  tap(place) {
    this.tapped?.classList.remove("cell-tapped");
    this.tapped = place;
    place.classList.add("cell-tapped");
  }

  missing({ number }) {
    return missingBefore(this.cells, this.ran, python.worker ? python.life : -1, number);
  }

  runTo(last) {
    return this.run(this.cells.filter((cell) => runs(cell) && cell.number <= last.number));
  }

  // One after the other, until one fails; the last is where the reader waits.
  async run(cells) {
    const last = cells.at(-1);
    this.now = last;
    last.begin();
    try {
      for (const [i, cell] of cells.entries()) {
        if (cell !== last) {
          cell.begin();
          last.say(`Running cell ${i + 1} of ${cells.length} …`);
        }
        const result = await python.run(cell.code, { name: cell.name, tell: (kind, text) => cell.hear(kind, text) });
        if (!result.error) this.ran.set(cell.number, python.life);
        cell.finish(result);
        if (result.error && cell !== last) {
          last.say(`${cell.name} above ended with an error: ${result.error.split("\n").at(-1)}`);
          last.end();
          return;
        }
      }
      this.tellSkipped(cells, last);
    } catch (reason) {
      for (const cell of cells) if (cell.busy) cell.broke(reason);
    }
  }

  tellSkipped(cells, last) {
    if (cells.length < 2) return;
    const pictures = this.cells.filter(({ kind, number }) => kind === "picture" && number < last.number).length;
    const words = pictures ? ` Passed over: ${count(pictures, "picture or prediction", "pictures and predictions")}, alive on the page as they are.` : "";
    last.say(`Done, ${count(cells.length, "cell")}.${words}`);
  }
}

export function mountCells() {
  const data = document.getElementById("page-cells");
  if (data) new Cells(JSON.parse(data.textContent));
}
