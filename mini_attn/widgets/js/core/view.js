// The generic view: controls, picture, sentence and table of any widget definition.
import { controlsMarkup, fillControls, readInput } from "./controls.js";
import { toHash } from "./hash.js";
import { defaults, fault } from "./schema.js";
import { escape } from "./text.js";

const NARROW = 640; // below this many CSS pixels a picture is drawn in its narrow form
let views = 0;

function tableMarkup({ caption, head, rows }) {
  const cells = (row, tag) => row.map((cell) => `<${tag}>${escape(cell)}</${tag}>`).join("");
  return `<table><caption>${escape(caption)}</caption><thead><tr>${cells(head, 'th scope="col"').replaceAll('</th scope="col">', "</th>")}</tr></thead>
    <tbody>${rows.map((row) => `<tr>${cells(row, "td")}</tr>`).join("")}</tbody></table>`;
}

function frame(definition, uid) {
  const { play } = definition;
  const moves = play
    ? `<button type="button" data-do="back">Back</button><button type="button" data-do="play" aria-pressed="false">Play</button>
       <button type="button" data-do="step">Step</button>`
    : "";
  return `<div class="living-app" role="group" aria-label="${escape(definition.title)}">
    <form class="living-controls" autocomplete="off">${controlsMarkup(definition, uid)}
      <div class="living-buttons">${moves}<button type="button" data-do="reset">Reset</button>
      <button type="button" data-do="link">Copy link</button></div></form>
    <p class="living-error" role="alert" hidden></p>
    <div class="living-result"><div class="living-output"></div>
      <p class="living-detail" aria-live="polite"></p>
      <p class="living-say" aria-live="polite"></p>
      <details class="living-table"><summary>The picture as a table</summary><div></div></details></div></div>`;
}

class View {
  constructor(definition, root, model, { link }) {
    Object.assign(this, { definition, root, model, link, timer: 0, wide: true });
    this.uid = `living-${definition.name}-${++views}`;
    root.innerHTML = frame(definition, this.uid);
    this.part = (name) => root.querySelector(`.living-${name}`);
    this.keys = Object.keys(definition.schema);
    this.listen();
    this.draw();
  }

  get state() {
    return Object.fromEntries(this.keys.map((key) => [key, this.model.get(key)]));
  }

  listen() {
    const form = this.part("controls");
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", (event) => this.fromInput(event.target));
    form.addEventListener("click", (event) => this.press(event.target.closest("[data-do]")));
    const output = this.part("output");
    for (const kind of ["pointerover", "focusin", "click"]) {
      output.addEventListener(kind, (event) => this.detail(event.target.closest?.("[data-tip]")));
    }
    this.changed = () => this.schedule();
    for (const key of this.keys) this.model.on(`change:${key}`, this.changed);
    this.observer = new ResizeObserver(([entry]) => {
      const wide = entry.contentRect.width >= NARROW;
      if (wide !== this.wide) {
        this.wide = wide;
        this.draw();
      }
    });
    this.observer.observe(this.part("result"));
  }

  fromInput(input) {
    const key = input.dataset.key;
    if (!key) return;
    const value = readInput(input, this.definition.schema[key]);
    const error = fault(this.definition.schema[key], key, value);
    input.toggleAttribute("aria-invalid", Boolean(error));
    this.complain(error);
    if (!error) this.put(key, value);
  }

  // Change one key; the definition may let others follow. One drawing for all of them.
  put(key, value) {
    const { update } = this.definition;
    this.write(update ? update(this.state, key, value) : { ...this.state, [key]: value });
  }

  write(state) {
    this.quiet = true;
    for (const key of this.keys) if (this.model.get(key) !== state[key]) this.model.set(key, state[key]);
    this.quiet = false;
    this.model.save_changes();
    this.draw();
  }

  schedule() {
    if (!this.quiet) this.draw();
  }

  press(button) {
    const action = button?.dataset.do;
    if (!action) return;
    const { play, schema } = this.definition;
    if (action !== "play" && action !== "link") this.stop();
    if (action === "reset") this.write(defaults(schema));
    if (action === "reset") this.complain(null);
    if (action === "step") this.move(1);
    if (action === "back") this.move(-1);
    if (action === "play") this.timer ? this.stop() : this.start(play);
    if (action === "link") this.copy(button);
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
    this.timer = setInterval(() => this.move(1) || this.stop(), milliseconds);
    this.showPlaying();
  }

  stop() {
    clearInterval(this.timer);
    this.timer = 0;
    if (this.definition.play) this.showPlaying();
  }

  showPlaying() {
    const button = this.root.querySelector("[data-do=play]");
    button.textContent = this.timer ? "Pause" : "Play";
    button.setAttribute("aria-pressed", String(Boolean(this.timer)));
  }

  copy(button) {
    const address = this.link(toHash(this.definition.name, this.definition.schema, this.state));
    const done = () => {
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy link"), 1500);
    };
    const show = () => this.complain(`The link to this state: ${address}`);
    navigator.clipboard ? navigator.clipboard.writeText(address).then(done, show) : show();
  }

  complain(text) {
    const box = this.part("error");
    box.textContent = text ?? "";
    box.hidden = !text;
  }

  detail(element) {
    if (!element) return;
    this.root.querySelector(".living-lit")?.classList.remove("living-lit");
    element.classList.add("living-lit");
    this.part("detail").textContent = element.dataset.tip;
  }

  draw() {
    const { definition, root } = this;
    const result = definition.compute(this.state);
    const output = this.part("output");
    const focused = output.contains(root.ownerDocument.activeElement)
      ? root.ownerDocument.activeElement.dataset.id
      : null;
    output.innerHTML = definition.draw(result, { width: this.wide ? 720 : 320, uid: this.uid });
    if (focused) output.querySelector(`[data-id="${focused}"]`)?.focus();
    this.part("detail").textContent = definition.hint ?? "";
    this.part("say").textContent = definition.describe(result);
    this.root.querySelector(".living-table > div").innerHTML = tableMarkup(definition.table(result));
    fillControls(root, definition, this.state);
  }

  remove() {
    this.stop();
    this.observer.disconnect();
    for (const key of this.keys) this.model.off(`change:${key}`, this.changed);
  }
}

// Put a widget into an element; gives a function that takes it away again.
export function show(definition, root, model, options = {}) {
  const link = options.link ?? ((hash) => hash);
  if (definition.mount) return definition.mount(root, model, { link }) ?? (() => {});
  const view = new View(definition, root, model, { link });
  if (options.error) view.complain(options.error);
  return () => view.remove();
}
