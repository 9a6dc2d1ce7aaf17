// The generic view: controls, sentence, picture, explanation and table of any widget definition.
import { moveFocus } from "./arrows.js";
import { dragging, meant, nearest } from "./drag.js";
import { fillControls, pressed, readInput } from "./controls.js";
import { callOut } from "./callout.js";
import { copyWords } from "./copy.js";
import { counting } from "./counting.js";
import { frame, tableMarkup } from "./frame.js";
import { toHash, toPython } from "./hash.js";
import { changedIn, leavesOf } from "./lens.js";
import { placesOf, still, travel } from "./motion.js";
import { defaults, fault, validate } from "./schema.js";

const WIDTHS = [280, 960]; // CSS pixels between which a picture is drawn to measure
const NARROW = 480; // below this, controls and parts of the picture fold
let views = 0;
let column = 0; // the width last measured: most views of a page stand in one column

class View {
  constructor(definition, root, model, { link }) {
    Object.assign(this, { definition, root, model, link, timer: 0, lit: null, pending: new Map() });
    this.uid = `living-${definition.name}-${++views}`;
    this.copies = link ? "Copy link" : "Copy code";
    root.innerHTML = frame(definition, this.uid, this.copies);
    // Asked once, of the first view: so early that there is little to lay out.
    this.measure(column || this.part("width").getBoundingClientRect().width || 720);
    this.part("second")?.toggleAttribute("open", !this.narrow);
    this.keys = Object.keys(definition.schema);
    this.count = counting(this.part("output"));
    this.listen();
    this.draw();
  }

  part(name) {
    return this.root.querySelector(`.living-${name}`);
  }

  get narrow() {
    return this.width < NARROW;
  }

  // Whether the picture has a second part that stands apart: some have one on narrow screens only.
  get apart() {
    const { second } = this.definition;
    return Boolean(second) && !this.lensed && this.width < (second.upTo ?? Infinity);
  }

  get state() {
    return Object.fromEntries(this.keys.map((key) => [key, this.model.get(key)]));
  }

  // Take the width to draw for; false if it is (nearly) the one that was drawn.
  measure(width) {
    column = Math.min(WIDTHS[1], Math.max(WIDTHS[0], Math.floor(width)));
    if (Math.abs(column - this.width) < 4) return false;
    this.width = column;
    this.part("app").classList.toggle("living-narrow", this.narrow);
    return true;
  }

  // The sentence keeps the height of its longest, so that what follows stays where it is; with
  // another width or another font it begins anew.
  resized({ target, contentRect: { width, height } }) {
    if (!width) return; // not shown: one letter a line would be the longest of all
    if (target === this.part("say")) target.style.minHeight = `${height}px`;
    else if (this.measure(width)) this.redraw();
  }

  settle() {
    const say = this.part("say");
    say.style.minHeight = "";
    this.observer.unobserve(say);
    this.observer.observe(say);
  }

  listen() {
    const form = this.part("controls");
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", (event) => this.fromInput(event.target));
    form.addEventListener("change", () => this.settleHand());
    this.root.addEventListener("click", (event) => this.press(event.target.closest("[data-do]")));
    const output = this.part("output");
    // Not where a picture comes below a pointer that rests, nor while a hand is at work.
    for (const kind of ["pointermove", "focusin", "click"]) {
      output.addEventListener(kind, (event) => (kind === "pointermove" && event.buttons) || this.light(meant(event, "[data-tip], [data-id]")));
    }
    for (const kind of ["pointerup", "pointercancel"]) output.addEventListener(kind, () => this.settleHand());
    output.addEventListener("click", (event) => {
      if (event.target.closest(".living-field")) meant(event).focus({ preventScroll: true });
      if (this.definition.choose) this.choose(meant(event));
    });
    output.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && !output.querySelector(":focus-visible") && this.unlight());
    output.addEventListener("keydown", (event) => this.key(event, output));
    if (this.definition.drag) dragging(output, (id) => this.grab(id));
    this.part("table").addEventListener("toggle", () => this.fillTable());
    this.part("second")?.addEventListener("toggle", () => this.result && this.drawSecond());
    this.changed = () => this.quiet || this.draw();
    for (const key of this.keys) this.model.on(`change:${key}`, this.changed);
    // Told the first time before anything is shown: to ask for the width of each view would lay
    // out the whole page as often. An empty line has the width and never the picture's height.
    this.observer = new ResizeObserver((entries) => entries.forEach((entry) => this.resized(entry)));
    this.observer.observe(this.part("width"));
    this.lettered = () => this.settle();
    document.fonts.addEventListener("loadingdone", this.lettered);
    this.settle();
  }

  key(event, output) {
    if (event.key === "Escape") this.unlight();
    if (this.slide(event)) return;
    moveFocus(event, [...output.querySelectorAll("[tabindex]")]);
    if (!this.definition.choose || !["Enter", " "].includes(event.key)) return;
    event.preventDefault();
    this.choose(event.target);
  }

  // A part that stands for a key of the state has the keys of a slider; an upright one up and down.
  slide(event) {
    const { grip, stops: kind } = event.target.dataset;
    const { controls, schema } = this.definition;
    const upright = event.target.matches("[aria-orientation]");
    const next = grip && pressed(controls.find(({ key }) => key === grip) ?? { kind }, schema[grip], this.model.get(grip), event.key, upright);
    if (next === undefined) return false;
    event.preventDefault();
    this.stop();
    this.complain(null);
    this.put(grip, next);
    return true;
  }

  // What moving a part makes of the state: the definition gives the values of keys, or null.
  grab(id) {
    const { drag, schema } = this.definition;
    const move = drag(this.result, id, { width: this.width, state: this.state });
    return move && ((way) => {
      const wanted = Object.entries(move(way)).map(([key, value]) => [key, nearest(schema[key], value)]);
      if (wanted.every(([key, value]) => this.model.get(key) === value)) return;
      this.stop();
      this.complain(null);
      this.unlight(); // the words would lie on what changes
      this.pace(id, () => {
        this.held = true; // what is in the hand doesn't travel
        this.write({ ...this.state, ...Object.fromEntries(wanted) });
        this.held = false;
      });
    });
  }

  // A hand can be faster than the frames: of each thing it moves, the last change of a frame counts.
  pace(what, change) {
    if (this.paced) return void this.pending.set(what, change);
    change();
    this.paced = true;
    requestAnimationFrame(() => requestAnimationFrame(() => {
      const [[what, change] = [], ...others] = this.pending;
      this.paced = false;
      this.pending = new Map(others);
      if (change && !this.removed) this.pace(what, change);
    }));
  }

  // The hand has let go.
  settleHand() {
    for (const change of this.pending.values()) change();
    this.pending.clear();
  }

  // A part of the picture is pressed: the definition says what that makes of the state.
  choose(element) {
    this.stop();
    this.complain(null);
    const next = element?.dataset.id && this.definition.choose(this.result, this.state, element.dataset.id);
    if (next) this.write(next);
  }

  fromInput(input) {
    const key = input.dataset.key;
    if (!key) return;
    const { schema, refuse } = this.definition;
    const entry = schema[key];
    const value = readInput(input, entry);
    const error = fault(entry, key, value) ?? refuse?.({ ...this.state, [key]: value }) ?? null;
    input.toggleAttribute("aria-invalid", Boolean(error));
    this.complain(error);
    if (error) return;
    this.unlight();
    if (input.matches("[type=range]:active")) this.pace(key, () => this.put(key, value));
    else this.put(key, value);
  }

  // Change one key; the definition may let others follow. One drawing for all of them.
  put(key, value) {
    const { update } = this.definition;
    this.write(update ? update(this.state, key, value) : { ...this.state, [key]: value });
  }

  write(state) {
    this.chosen?.(this.state, state); // before the state is another
    this.quiet = true;
    for (const key of this.keys) if (this.model.get(key) !== state[key]) this.model.set(key, state[key]);
    this.quiet = false;
    this.model.save_changes();
    this.draw();
  }

  // Take over what was chosen in another picture, without telling it back.
  follow(state) {
    const { chosen } = this;
    this.chosen = null;
    if (!this.definition.refuse?.(state)) this.write(state);
    this.chosen = chosen;
  }

  press(element) {
    const action = element?.dataset.do;
    if (!action) return;
    if (!["play", "copy", "tell", "settings"].includes(action)) this.stop();
    if (action === "settings") element.setAttribute("aria-expanded", String(this.part("controls").classList.toggle("living-open")));
    if (action === "reset") {
      this.complain(null);
      this.write(defaults(this.definition.schema));
      this.forgotten?.();
    }
    if (action === "step") this.move(1);
    if (action === "back") this.move(-1);
    if (action === "play") this.timer ? this.stop() : this.start(this.definition.play);
    if (action === "copy") this.copy(element);
    if (!this.definition.actions?.[action]) return;
    this.complain(null);
    this.definition.actions[action](this);
  }

  move(by) {
    const { key } = this.definition.play;
    const { min, max } = this.definition.schema[key];
    const next = Math.min(max, Math.max(min, this.model.get(key) + by));
    this.put(key, next);
    return next < max;
  }

  start({ key, milliseconds }) {
    const { min, max } = this.definition.schema[key];
    if (this.model.get(key) === max) this.put(key, min);
    this.repeat(() => this.move(1), milliseconds);
  }

  // Again and again, until a step says that it was the last one.
  repeat(step, milliseconds) {
    this.timer = setInterval(() => step() || this.stop(), milliseconds);
    this.showPlaying();
  }

  stop() {
    clearInterval(this.timer);
    this.timer = 0;
    this.showPlaying();
  }

  showPlaying() {
    const element = this.root.querySelector("[data-do=play], [data-do=tell]");
    if (!element) return;
    const [go, halt] = element.dataset.do === "play" ? ["Play", "Pause"] : ["Tell on", "Stop"];
    element.textContent = this.timer ? halt : go;
    element.setAttribute("aria-pressed", String(Boolean(this.timer)));
  }

  // On a page the address of this state; in a notebook, which has none, the line that makes it.
  copy(element) {
    const { name, schema } = this.definition;
    const words = this.link ? this.link(toHash(name, schema, this.state)) : toPython(name, schema, this.state);
    copyWords(element, this.copies, words, (said) => this.complain(said));
  }

  complain(words) {
    const box = this.part("note");
    box.textContent = words ?? "";
    box.hidden = !words;
  }

  // What stands behind a part of the picture: its own words, or the definition's.
  light(element) {
    if (!element || element.classList.contains("living-lit")) return;
    const { tip, id } = element.dataset;
    const { explain } = this.definition;
    const { text, also } = tip !== undefined || !explain ? { text: tip ?? "", also: [] } : explain(this.result, id);
    const output = this.part("output");
    this.dim();
    element.classList.add("living-lit");
    for (const other of also) output.querySelector(`[data-id="${other}"]`)?.classList.add("living-also");
    this.lit = id ?? null;
    this.tell("detail", text);
    callOut(this.part("detail"), element, output, this.narrow);
  }

  dim() {
    for (const old of this.root.querySelectorAll(".living-lit, .living-also")) old.classList.remove("living-lit", "living-also");
  }

  unlight() {
    this.dim();
    this.lit = null;
    this.tell("detail", "");
  }

  // Show what stands behind the part with this name, as if it were pointed at; gives the part.
  pointAt(id) {
    const part = id ? this.part("output").querySelector(`[data-id="${CSS.escape(id)}"]`) : null;
    this.light(part);
    return part;
  }

  // The same words again would be read aloud again.
  tell(name, words) {
    const box = this.part(name);
    if (box.textContent !== words) box.textContent = words;
  }

  draw() {
    const { definition, root } = this;
    const checked = validate(definition.schema, this.state);
    const error = checked.error ?? definition.refuse?.(checked.state);
    if (error) this.complain(`This state is refused: ${error}.`);
    // Until something can be shown, the view shows how it begins.
    const state = error || this.wait(checked.state) ? !this.result && definition.waits && defaults(definition.schema) : checked.state;
    if (state) this.paint(state);
    if (!error) fillControls(root, definition, checked.state);
  }

  // Whether a state has to wait for what it needs; then it is drawn when that has come.
  wait(state) {
    const coming = this.definition.waits?.(state, this.model);
    this.part("result").toggleAttribute("aria-busy", Boolean(coming));
    if (!coming || coming === this.coming) return Boolean(coming);
    this.coming = coming;
    const still = () => !this.removed && this.coming === coming;
    const failed = (error) => {
      if (!still()) return;
      this.stop();
      this.coming = null;
      this.part("result").removeAttribute("aria-busy");
      this.complain(`${error.message} The picture stays as it was.`);
    };
    coming.then(() => still() && this.draw()).catch(failed);
    return true;
  }

  paint(state) {
    const { definition, root } = this;
    const before = this.result;
    this.result = definition.compute(state);
    const output = this.part("output");
    const places = before && !this.held && !still() ? placesOf(output) : null;
    const leaves = this.whenChanged && leavesOf(output);
    const active = root.ownerDocument.activeElement;
    const focused = output.contains(active) ? active.dataset.id : null;
    const second = this.part("second");
    if (second) {
      const { title, narrow = title } = definition.second;
      second.hidden = !this.apart;
      second.firstElementChild.textContent = this.narrow ? narrow : title;
    }
    this.part("first").innerHTML = this.drawn(this.apart ? "first" : undefined);
    this.drawSecond();
    this.count(definition.counts?.(this.result) ?? {}, this.held);
    const find = (id) => (id ? output.querySelector(`[data-id="${id}"]`) : null);
    if (focused) find(focused)?.focus();
    else if (find(this.lit)) this.light(find(this.lit));
    else this.tell("detail", "");
    this.tell("say", definition.describe(this.result));
    this.fillTable();
    if (leaves) this.whenChanged(changedIn(output, leaves));
    this.whenChanged = null;
    if (places?.size) travel(output, places);
  }

  // As a lens on what a phrase sets: the whole picture in one, with the controls of these keys; null
  // ends it.
  lens(keys) {
    this.lensed = Boolean(keys);
    this.unlight();
    for (const box of this.root.querySelectorAll("[data-control]")) box.toggleAttribute("data-unset", this.lensed && !keys.includes(box.dataset.control));
    this.measure(this.part("width").getBoundingClientRect().width || this.width);
    this.redraw();
  }

  // In another place or width, and no other state.
  redraw() {
    const { held } = this;
    this.held = true;
    this.draw();
    this.held = held;
    this.settle();
  }

  drawn(part) {
    const touch = matchMedia("(pointer: coarse)").matches;
    return this.definition.draw(this.result, { part, width: this.width, uid: `${this.uid}-${part ?? "all"}`, live: true, touch });
  }

  // The second part of the picture, like the table, only while it is open: a slider has no time for
  // what nobody sees.
  drawSecond() {
    const second = this.part("second");
    if (second?.open) second.lastElementChild.innerHTML = this.apart ? this.drawn("second") : "";
  }

  fillTable() {
    const details = this.part("table");
    if (details.open) details.lastElementChild.innerHTML = tableMarkup(this.definition.table(this.result));
  }

  remove() {
    this.removed = true;
    this.stop();
    this.count.stop();
    this.observer.disconnect();
    document.fonts.removeEventListener("loadingdone", this.lettered);
    for (const key of this.keys) this.model.off(`change:${key}`, this.changed);
  }
}

// Put a widget into an element; `remove` of what comes back takes it away again.
export function show(definition, root, model, { link = null, error = null } = {}) {
  const own = definition.mount?.(root, model, { link });
  if (definition.mount && typeof own !== "object") return { remove: own ?? (() => {}) };
  const view = own ?? new View(definition, root, model, { link });
  if (error) view.complain(error);
  return view;
}
