// The page *Your model*: two models side by side, listed ones or those of a pasted config.json.
import { controlsMarkup, fillControls, readInput } from "../core/controls.js";
import { fault } from "../core/schema.js";
import { escape } from "../core/text.js";
import { dtypeLabel } from "../cache_calculator/words.js";
import { BITS, DEVICES, costOf } from "./compute.js";
import page from "./page.css";
import look from "./picture.css";
import { draw, together } from "./picture.js";
import { Unreadable, listed, modelOf, readText } from "./read.js";
import { storedWords } from "./stored.js";
import { NONE, first, fromHash, schema, toHash } from "./state.js";
import { describe, formula, formulaText, grouped, labelOf, markdown, perLayer, rows, sizeRows } from "./words.js";

const dtypes = Object.keys(BITS).map((name) => [name, dtypeLabel(name)]);
const controls = [
  { key: "context", label: "Tokens per sequence", kind: "log" },
  { key: "batch", label: "Sequences", kind: "log" },
  { key: "device", label: "Device", kind: "select", options: [...DEVICES.values()].map(({ key, name }) => [key, name]) },
  { key: "dtype", label: "Cache stored as", kind: "select", options: dtypes },
  { key: "weight_dtype", label: "Weights stored as", kind: "select", options: [...dtypes, ["file", "as the file says, or bfloat16"]] },
];
const definition = { schema, controls };
const SIDES = ["a", "b"];
const OWN = "own";
const COPIES = { link: "Copy link", markdown: "Copy as Markdown", svg: "Copy as SVG" };
const MOST = 1_000_000;

function modelOptions(side) {
  const groups = Map.groupBy ? Map.groupBy(listed(), ({ family }) => family) : listed().reduce((all, model) => all.set(model.family, [...(all.get(model.family) ?? []), model]), new Map());
  const option = (value, words) => `<option value="${escape(value)}">${escape(words)}</option>`;
  const all = [...groups].map(([family, models]) => `<optgroup label="${escape(family)}">${models.map(({ name, title }) => option(name, title)).join("")}</optgroup>`);
  return `${side === "b" ? option(NONE, "No second model") : ""}<option value="${OWN}" hidden></option>${all.join("")}`;
}

function sideMarkup(side) {
  const name = side === "a" ? "First model" : "Second model";
  return `<div class="ym-one" role="region" data-side="${side}" aria-label="${name}">
    <div class="ym-top"><div class="ym-choose"><label>${name}<select data-model>${modelOptions(side)}</select></label>
      <button type="button" data-do="paste" aria-expanded="false" aria-controls="ym-paste-${side}">Paste your own config.json</button></div>
    <div class="ym-paste" id="ym-paste-${side}" hidden>
      <label>The text of a config.json<textarea rows="6" spellcheck="false" autocapitalize="none" placeholder='{"model_type": "llama", …}'></textarea></label>
      <label>or the file; you can also drop it here<input type="file" accept=".json,application/json"></label></div>
    <p class="ym-sentence ym-fault" role="alert" hidden></p></div>
    <div class="ym-shown"><div data-picture></div><div data-formula></div><p class="ym-sentence" data-stored hidden></p><p class="ym-sentence" data-unknown hidden></p></div></div>`;
}

function markup() {
  const buttons = Object.entries(COPIES).map(([what, words]) => `<button type="button" data-copy="${what}">${words}</button>`).join("");
  return `<div class="living-live"><div class="living-app" role="group" aria-label="Your model">
    <div class="ym-pair">${SIDES.map(sideMarkup).join("")}
      <form class="living-controls ym-controls" autocomplete="off">${controlsMarkup(definition, controls, "ym")}<p class="living-note" role="alert" hidden></p></form></div>
    <p class="living-say" aria-live="polite"></p>
    <div class="ym-numbers" data-rows></div>
    <details class="ym-sizes"><summary></summary><div class="ym-numbers" data-sizes></div></details>
    <div class="living-buttons">${buttons}</div>
    <p class="ym-copied" hidden><label>To copy:<textarea rows="6" readonly></textarea></label></p></div></div>`;
}

// The formula, each number with its name under it.
function formulaMarkup(cost) {
  const factor = (number, label, why = "") => `<span title="${escape(why)}"><b>${number}</b><small>${escape(label)}</small></span>`;
  const parts = []; // each with the signs before it, so that no line ends with one
  let signs = "";
  for (const { sign, ...one } of formula(cost)) {
    if (sign === ")") parts.push(`${parts.pop()}<i>)</i>`);
    else if (sign) signs += `<i>${escape(sign)}</i>`;
    else [signs] = ["", parts.push(`${signs}${factor(grouped(one.value), labelOf(one), one.why)}`)];
  }
  parts.push(`<i>=</i>${factor(grouped(cost.total_bytes), "bytes")}`);
  return `<p class="ym-sentence">${escape(perLayer(cost))}</p><div class="ym-formula" role="img" aria-label="${escape(formulaText(cost))}">${parts.map((part) => `<span>${part}</span>`).join("")}</div>`;
}

function tableMarkup(caption, titles, lines) {
  const line = ({ cells: [what, ...cells], differs }) => `<tr${differs ? ' class="ym-differs"' : ""}><th scope="row">${escape(what)}${differs ? " ≠" : ""}</th>${cells.map((cell) => `<td>${escape(cell)}</td>`).join("")}</tr>`;
  return `<table><caption>${escape(caption)}</caption><thead><tr><td></td>${titles.map((title) => `<th scope="col">${escape(title)}</th>`).join("")}</tr></thead><tbody>${lines.map(line).join("")}</tbody></table>`;
}

class View {
  constructor(place) {
    this.place = place;
    this.unknown = { a: [], b: [] };
    this.unread = { a: null, b: null }; // how weights are quantized that no type here is like
    const asked = fromHash(location.hash, first());
    this.state = asked?.state ?? first();
    const style = document.createElement("style");
    style.textContent = look + page;
    document.head.append(style);
    place.innerHTML = markup();
    this.show();
    this.complain(asked?.error);
    this.listen();
  }

  find(selector, within = this.place) { return within.querySelector(selector); }

  side(side) { return this.find(`[data-side="${side}"]`); }

  complain(words, note = this.find(".living-note")) {
    note.textContent = words ?? "";
    note.hidden = !words;
  }

  // A sentence on a file that can't be read; the model that stays is dimmed.
  refuse(side, words) {
    const box = this.side(side), { title } = this.state[side] ?? {};
    this.complain(words && `This can't be read: ${words}.${title ? ` Below is still ${title}.` : ""}`, this.find("[role='alert']", box));
    box.classList.toggle("ym-stale", Boolean(words));
  }

  // The models that are shown, with their costs.
  costs() {
    return SIDES.map((side) => this.state[side]).filter(Boolean).map((model) => costOf(model, this.state));
  }

  set(change) {
    this.state = { ...this.state, ...change };
    this.complain(null);
    this.show();
    this.remember();
  }

  // The address follows, but not in the history; from a folder some browsers refuse it.
  remember() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => {
      try { history.replaceState(null, "", toHash(this.state)); } catch { /* then the link is copied only */ }
    }, 300);
  }

  show() {
    const costs = this.costs();
    this.placeControls();
    fillControls(this.place, definition, this.state);
    for (const input of this.place.querySelectorAll("[aria-invalid]")) {
      input.removeAttribute("aria-invalid");
      input.value = this.state[input.dataset.key];
    }
    for (const side of SIDES) this.showSide(side, costs[SIDES.indexOf(side)]);
    this.find(".living-say").textContent = describe(costs);
    const titles = costs.map(({ title }) => title);
    const lines = rows(costs, this.state).map((cells) => ({ cells }));
    const about = `${DEVICES.get(this.state.device).name}, products in bfloat16`;
    this.find("[data-rows]").innerHTML = tableMarkup(about, titles, lines);
    const models = costs.map(({ model }) => model);
    const sizes = sizeRows(models), apart = sizes.filter(({ differs }) => differs).length;
    this.find(".ym-sizes > summary").textContent = models.length > 1 ? `All sizes: ${apart} of ${sizes.length} differ` : "All sizes";
    this.find("[data-sizes]").innerHTML = tableMarkup(models.length > 1 ? "≠ where the two differ" : "Sizes", titles, sizes);
    this.find(".ym-copied").hidden = true;
  }

  // Above the pictures; the tab key goes where the eye does, with one column as with two.
  placeControls() {
    const pair = this.find(".ym-pair"), form = this.find("form");
    const before = getComputedStyle(pair).gridTemplateColumns.includes(" ") ? this.side("b") : this.side("a");
    if (form.previousElementSibling !== before) before.after(form);
  }

  showSide(side, cost) {
    const box = this.side(side), select = this.find("[data-model]", box);
    const own = this.find(`option[value="${OWN}"]`, box), model = this.state[side];
    if (model?.name === OWN) own.textContent = model.title;
    own.hidden = model?.name !== OWN;
    select.value = model?.name ?? NONE;
    const picture = this.find("[data-picture]", box);
    const width = Math.floor(Math.min(picture.clientWidth || 440, 560));
    picture.innerHTML = cost ? draw(cost, { width, uid: `ym-${side}`, label: describe([cost]) }) : "";
    this.find("[data-formula]", box).innerHTML = cost && !cost.error ? formulaMarkup(cost) : "";
    this.complain(model?.name === OWN ? storedWords(model, this.unread[side], this.state) : "", this.find("[data-stored]", box));
    const words = this.find("[data-unknown]", box), keys = model?.name === OWN ? this.unknown[side] : [];
    words.hidden = !keys.length;
    words.textContent = keys.length ? `Nobody here knows ${keys.slice(0, 8).map((key) => key.slice(0, 40)).join(", ")}${keys.length > 8 ? ` and ${keys.length - 8} more keys` : ""}. If ${keys.length > 1 ? "they change" : "it changes"} the layers, these numbers are wrong.` : "";
  }

  // What was pasted, dropped or chosen, or a sentence that says what is wrong with it.
  take(side, text) {
    try {
      const { model, unknown, unread } = readText(text);
      [this.unknown[side], this.unread[side]] = [unknown, unread];
      this.refuse(side, null);
      this.set({ [side]: model, ...(model.stored && { weight_dtype: "file" }) });
    } catch (caught) {
      if (!(caught instanceof Unreadable)) throw caught;
      this.refuse(side, caught.message);
    }
  }

  async takeFile(side, file) {
    if (!file) return;
    if (file.size > MOST) {
      this.refuse(side, `${file.name.slice(0, 60)} has ${(file.size / 1e6).toFixed(1)} MB, and a config.json has a few kilobytes`);
      return;
    }
    this.take(side, await file.text());
  }

  listen() {
    this.place.addEventListener("input", (event) => this.onInput(event.target));
    this.place.addEventListener("change", (event) => this.onChange(event.target));
    this.place.addEventListener("click", (event) => this.onClick(event.target));
    this.place.addEventListener("submit", (event) => event.preventDefault());
    for (const side of SIDES) this.listenDrop(side);
    addEventListener("hashchange", () => {
      const asked = fromHash(location.hash, this.state);
      if (!asked) return;
      if (!asked.error) {
        for (const side of SIDES) this.refuse(side, null);
        [this.unknown, this.unread] = [{ a: [], b: [] }, { a: null, b: null }]; // a link doesn't say
        this.set(asked.state);
      }
      this.complain(asked.error);
    });
    let width = innerWidth;
    addEventListener("resize", () => {
      if (innerWidth !== width) this.show();
      width = innerWidth;
    });
  }

  listenDrop(side) {
    const box = this.side(side);
    const over = (on) => (event) => {
      event.preventDefault();
      box.classList.toggle("ym-over-it", on);
    };
    box.addEventListener("dragover", over(true));
    box.addEventListener("dragleave", over(false));
    box.addEventListener("drop", (event) => {
      over(false)(event);
      const [file] = event.dataTransfer.files;
      file ? this.takeFile(side, file) : this.take(side, event.dataTransfer.getData("text"));
    });
  }

  onInput(input) {
    const box = input.closest("[data-side]");
    if (box && input.type === "textarea") {
      input.value.trim() ? this.take(box.dataset.side, input.value) : this.refuse(box.dataset.side, null);
      return;
    }
    const { key } = input.dataset;
    if (!key) return;
    const value = readInput(input, schema[key]);
    const wrong = fault(schema[key], `“${controls.find((control) => control.key === key).label}”`, value);
    if (!wrong) return this.set({ [key]: value });
    this.complain(`${wrong}. The numbers are still those of ${grouped(this.state[key])}.`);
    input.setAttribute("aria-invalid", "true");
  }

  onChange(input) {
    const side = input.closest("[data-side]")?.dataset.side;
    if (!side) return;
    if (input.type === "file") this.takeFile(side, input.files[0]);
    else if ("model" in input.dataset && input.value !== OWN) {
      this.refuse(side, null);
      this.set({ [side]: modelOf(input.value) });
    }
  }

  onClick(target) {
    const button = target.closest("button");
    if (button?.dataset.do === "paste") {
      const box = button.closest("[data-side]"), panel = this.find(".ym-paste", box);
      panel.hidden = !panel.hidden;
      button.setAttribute("aria-expanded", String(!panel.hidden));
      if (!panel.hidden) this.find("textarea", panel).focus();
    } else if (button?.dataset.copy) this.copy(button);
  }

  // Into the clipboard; where there is none, into a field with everything selected.
  copy(button) {
    const what = button.dataset.copy, costs = this.costs();
    const link = location.href.replace(/#.*$/, "") + toHash(this.state);
    const words = {
      link: () => link,
      markdown: () => markdown(costs, this.state, DEVICES.get(this.state.device).name, location.protocol === "file:" ? "" : link),
      svg: () => together(costs, look),
    }[what]();
    const shown = () => {
      const box = this.find(".ym-copied"), area = this.find("textarea", box);
      box.hidden = false;
      area.value = words;
      area.focus();
      area.select();
    };
    const done = () => {
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = COPIES[what]; }, 1500);
    };
    navigator.clipboard ? navigator.clipboard.writeText(words).then(done, shown) : shown();
  }
}

new View(document.getElementById("own-model")); // the script is right behind it
