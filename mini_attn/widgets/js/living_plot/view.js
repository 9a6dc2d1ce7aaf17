// The view of a living plot: buttons or a slider for the step, the picture, a line to read values at.
import { copyWords } from "../core/copy.js";
import { dragging } from "../core/drag.js";
import { tableMarkup } from "../core/frame.js";
import { toHash } from "../core/hash.js";
import { MOTION, still } from "../core/motion.js";
import { validate } from "../core/schema.js";
import { escape } from "../core/text.js";
import { blend, compute, matching, pointsOf } from "./compute.js";
import { handles, layout, moving, nextPoint, pointAt, reader, standing, stepAt, ways } from "./picture.js";
import { reading, sentence, tables } from "./words.js";

const BUTTONS = 5; // so many steps are buttons; more are a slider
const WIDTHS = [260, 880];
let views = 0;

function control({ control: name, steps }, uid) {
  if (steps.length < 2) return "";
  if (steps.length > BUTTONS) {
    return `<form class="plot-steps" autocomplete="off"><div class="living-control"><label for="${uid}-step">${escape(name)}</label><span class="living-inputs"><input type="range" id="${uid}-step" data-key="step" min="0" max="${steps.length - 1}" step="1"><output for="${uid}-step"></output></span></div></form>`;
  }
  const buttons = steps.map((words, i) => `<label><input type="radio" name="${uid}-step" data-key="step" value="${i}"><span>${escape(words)}</span></label>`);
  return `<form class="plot-steps" autocomplete="off"><fieldset class="living-choice"><legend>${escape(name)}</legend><div>${buttons.join("")}</div></fieldset></form>`;
}

const frame = (definition, uid, linked) => `<div class="living-app plot-app" role="group" aria-label="${escape(definition.title)}">
  <p class="living-note" role="alert" hidden></p>${control(definition.figure, uid)}
  <div class="living-output plot-output"><svg class="plot-picture" xmlns="http://www.w3.org/2000/svg" role="group"><g data-layer="still" aria-hidden="true"></g><g data-layer="moving" aria-hidden="true"></g><g data-layer="reader" aria-hidden="true"></g><rect class="plot-surface" data-id="reader" tabindex="0" role="slider" aria-label="Read values" fill="transparent"/><g data-layer="ways" aria-hidden="true"></g></svg></div>
  <p class="living-say plot-say" aria-live="polite"></p><p class="plot-reading"></p>
  <div class="living-foot"><details class="living-table"><summary>The picture as a table</summary><div tabindex="0" role="group" aria-label="Table"></div></details>
  ${linked ? '<div class="living-buttons living-quiet"><button type="button" data-do="copy">Copy link</button></div>' : ""}</div></div>`;

export class PlotView {
  constructor(definition, root, model, link) {
    Object.assign(this, { definition, figure: definition.figure, root, model, link, moved: 0, at: null });
    root.innerHTML = frame(definition, `plot-${++views}`, link);
    const find = (selector) => root.querySelector(selector);
    this.parts = { output: find(".plot-output"), svg: find(".plot-picture"), surface: find(".plot-surface"), say: find(".plot-say"), reading: find(".plot-reading"), note: find(".living-note"), details: find("details") };
    this.layers = Object.fromEntries(["still", "moving", "reader", "ways"].map((name) => [name, find(`[data-layer=${name}]`)]));
    this.listen();
    this.resize(root.getBoundingClientRect().width || 720);
  }

  get state() {
    return { step: this.model.get("step"), reader: this.model.get("reader") };
  }

  listen() {
    const { surface, details, svg, output } = this.parts;
    this.root.addEventListener("input", ({ target }) => target.dataset.key && this.write({ ...this.state, step: Number(target.value) }));
    this.root.addEventListener("submit", (event) => event.preventDefault());
    this.root.querySelector("[data-do=copy]")?.addEventListener("click", ({ target }) => this.copy(target));
    svg.addEventListener("pointermove", (event) => (event.pointerType === "mouse" || event.buttons) && this.point(event));
    svg.addEventListener("pointerdown", (event) => {
      if (event.target !== surface) return;
      surface.setPointerCapture(event.pointerId); // the line follows beyond the edge
      this.point(event);
    });
    dragging(output, (id) => this.grab(id));
    surface.addEventListener("keydown", (event) => this.key(event));
    surface.addEventListener("focus", () => this.state.reader < 0 && surface.matches(":focus-visible") && this.read(0));
    details.addEventListener("toggle", () => this.fillTable());
    this.changed = () => this.quiet || this.draw();
    for (const key of ["step", "reader"]) this.model.on(`change:${key}`, this.changed);
    this.observer = new ResizeObserver(([{ contentRect }]) => contentRect.width && this.resize(contentRect.width));
    this.observer.observe(this.parts.output);
  }

  point({ clientX, clientY }) {
    const { left, top, width } = this.parts.svg.getBoundingClientRect();
    const zoom = this.layout.width / width;
    this.read(pointAt(this.figure, this.layout, (clientX - left) * zoom, (clientY - top) * zoom));
  }

  // A line or a dot that the steps move is moved to a step; the reader's line has its own surface.
  grab(id) {
    const way = this.ways[id.replace("way-", "")];
    return way && (({ to: [x] }) => {
      const step = stepAt(way, (x * this.layout.width) / this.parts.svg.getBoundingClientRect().width);
      if (step !== this.state.step) this.write({ ...this.state, step });
    });
  }

  key(event) {
    const next = nextPoint(this.figure.panels[0], this.state.reader, event.key);
    if (next === null) return;
    event.preventDefault();
    this.read(next);
  }

  read(point) {
    if (point >= 0 && point !== this.state.reader) this.write({ ...this.state, reader: point });
  }

  // From outside or from an input: one drawing for both keys.
  write(state) {
    this.complain(null);
    this.quiet = true;
    for (const key of ["step", "reader"]) if (this.model.get(key) !== state[key]) this.model.set(key, state[key]);
    this.quiet = false;
    this.model.save_changes();
    this.draw();
  }

  complain(words) {
    this.parts.note.textContent = words ?? "";
    this.parts.note.hidden = !words;
  }

  resize(width) {
    const next = Math.min(WIDTHS[1], Math.max(WIDTHS[0], Math.floor(width)));
    if (this.layout?.width === next) return;
    this.layout = layout(this.figure, next);
    const { svg, surface } = this.parts;
    for (const [name, value] of Object.entries({ viewBox: `0 0 ${next} ${this.layout.height}`, width: next, height: this.layout.height })) svg.setAttribute(name, value);
    for (const [name, value] of Object.entries({ x: 0, y: 0, width: next, height: this.layout.height })) surface.setAttribute(name, value);
    this.layers.still.innerHTML = standing(this.figure, this.layout);
    this.ways = ways(this.figure, this.layout);
    this.shown = null;
    this.draw();
  }

  draw() {
    const { state, error } = validate(this.definition.schema, this.state);
    const most = pointsOf(this.figure.panels[0]) - 1;
    const wrong = error ?? (state.reader > most ? `reader is -1 to ${most}, not ${state.reader}` : null);
    if (wrong) {
      this.complain(`This state is refused: ${wrong}.`);
      if (this.shown) return;
    }
    const now = wrong ? { step: 0, reader: -1 } : state;
    const target = compute(this.figure, now.step);
    this.where = now.reader;
    const jump = !this.shown || now.step === this.at || still();
    if (jump && now.step !== this.at) cancelAnimationFrame(this.moved);
    if (!jump) this.move(this.shown, target);
    else if (now.step !== this.at || !this.shown) this.paint(target);
    else this.paintReader();
    this.at = now.step;
    this.layers.ways.innerHTML = handles(this.ways, now.step);
    this.tell(now, target);
  }

  move(from, to) {
    cancelAnimationFrame(this.moved);
    const begin = performance.now();
    const frameOf = (time) => {
      const t = Math.min(1, Math.max(0, (time - begin) / MOTION));
      this.paint(blend(this.figure, from, to, 1 - (1 - t) ** 3));
      if (t < 1) this.moved = requestAnimationFrame(frameOf);
    };
    this.moved = requestAnimationFrame(frameOf);
  }

  paint(shown) {
    this.shown = shown;
    this.layers.moving.innerHTML = moving(this.figure, this.layout, shown);
    this.paintReader();
  }

  get points() {
    const [first] = this.figure.panels;
    return this.figure.panels.map((panel) => matching(first, panel, this.where));
  }

  paintReader() {
    this.layers.reader.innerHTML = reader(this.figure, this.layout, this.shown, this.points);
  }

  // Words of the state that is arrived at, not of the way.
  tell({ step, reader: point }, shown) {
    const { say, surface, reading: box } = this.parts;
    const [first] = this.figure.panels;
    const told = sentence(this.figure, step);
    if (say.textContent !== told) say.textContent = told;
    const read = reading(this.figure, shown, this.points);
    box.textContent = read || "Point at the picture, drag along it, or use the arrow keys to read values.";
    for (const [name, value] of Object.entries({ valuemin: 0, valuemax: pointsOf(first) - 1, valuenow: Math.max(0, point), valuetext: read || "nothing read yet" })) surface.setAttribute(`aria-${name}`, value);
    for (const input of this.root.querySelectorAll("[data-key]")) {
      if (input.type === "radio") input.checked = Number(input.value) === step;
      else [input.value, input.nextElementSibling.textContent] = [step, this.figure.steps[step]];
      if (input.type === "range") input.setAttribute("aria-valuetext", this.figure.steps[step]);
    }
    this.fillTable();
  }

  fillTable() {
    const { details } = this.parts;
    if (details.open) details.lastElementChild.innerHTML = tables(this.figure, compute(this.figure, this.at), this.at).map(tableMarkup).join("");
  }

  copy(element) {
    const words = this.link(toHash(this.definition.name, this.definition.schema, this.state));
    copyWords(element, "Copy link", words, (said) => this.complain(said));
  }

  remove() {
    cancelAnimationFrame(this.moved);
    this.observer.disconnect();
    for (const key of ["step", "reader"]) this.model.off(`change:${key}`, this.changed);
  }
}
