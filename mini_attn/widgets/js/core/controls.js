// Native inputs with labels: they work by mouse, touch and keyboard, and readers announce them.
import { read } from "./schema.js";
import { escape } from "./text.js";

function options(control) {
  return control.options.map((option) => (Array.isArray(option) ? option : [option, option]));
}

// Where a logarithmic slider stops: 1, 2, 3, 4, 6, 8, 12, 16 … A power of two is always hit, and
// an arrow key always moves on, which it does not where close stops round to one number.
function stops({ min, max }) {
  const all = [min];
  for (let power = 1; power <= max; power *= 2) {
    all.push(...[power, 1.5 * power].filter((n) => Number.isInteger(n) && n > min && n <= max));
  }
  return all;
}

function toLog(entry, value) {
  const away = stops(entry).map((stop) => Math.abs(Math.log(stop / value)));
  return away.indexOf(Math.min(...away));
}

const fromLog = (entry, at) => stops(entry)[at];

// Where an arrow key takes a value on the stops of its control; undefined for other keys.
export function pressed({ kind } = {}, entry, value, key, upright) {
  const { min, max, step = 1, values } = entry;
  const all = values ? values.toSorted((a, b) => a - b) : kind === "log" ? stops(entry) : [Math.max(min, value - step), Math.min(max, value + step)];
  return {
    [upright ? "ArrowUp" : "ArrowRight"]: all.find((stop) => stop > value) ?? value,
    [upright ? "ArrowDown" : "ArrowLeft"]: all.findLast((stop) => stop < value) ?? value, Home: min ?? all[0], End: max ?? all.at(-1),
  }[key];
}

// The choices of a list, those with the same third word under one heading.
function choices(control) {
  const groups = new Map();
  for (const [value, label, group = ""] of options(control)) {
    const markup = `<option value="${escape(value)}">${escape(label)}</option>`;
    groups.set(group, (groups.get(group) ?? "") + markup);
  }
  return [...groups].map(([group, inside]) =>
    (group ? `<optgroup label="${escape(group)}">${inside}</optgroup>` : inside)).join("");
}

function inputs(control, entry, id) {
  const data = `data-key="${control.key}"`;
  const bounds = `min="${entry.min}" max="${entry.max}" step="${entry.step ?? 1}"`;
  switch (control.kind) {
    case "select":
      return `<select id="${id}" ${data}>${choices(control)}</select>`;
    case "toggle":
      return `<input type="checkbox" role="switch" id="${id}" ${data}>`;
    case "text":
      return `<textarea id="${id}" ${data} rows="2" spellcheck="false" autocapitalize="none" maxlength="${entry.max}"></textarea>`;
    case "number":
      return `<input type="number" inputmode="decimal" id="${id}" ${data} ${bounds}>`;
    case "log":
      return `<input type="range" id="${id}" ${data} data-log min="0" max="${stops(entry).length - 1}" step="1">
        <input type="number" inputmode="numeric" aria-label="${escape(control.label)}, exact" ${data} ${bounds}>`;
    default:
      return `<input type="range" id="${id}" ${data} ${bounds}><output for="${id}" data-out="${control.key}"></output>`;
  }
}

function choice(control, id) {
  const buttons = options(control).map(
    ([value, label], i) => `<label><input type="radio" name="${id}" value="${escape(value)}" data-key="${control.key}"
      ${i === 0 ? `id="${id}"` : ""}><span>${escape(label)}</span></label>`,
  );
  return `<fieldset class="living-choice" data-control="${control.key}"><legend>${escape(control.label)}</legend>
    <div>${buttons.join("")}</div></fieldset>`;
}

function controlMarkup(definition, control, uid) {
  const id = `${uid}-${control.key}`;
  if (control.kind === "choice") return choice(control, id);
  const unit = control.unit ? ` <small>${escape(control.unit)}</small>` : "";
  return `<div class="living-control living-${control.kind}" data-control="${control.key}">
    <label for="${id}">${escape(control.label)}${unit}</label>
    <span class="living-inputs">${inputs(control, definition.schema[control.key], id)}</span></div>`;
}

// Markup of some controls, those with a group inside a fieldset of that name.
export function controlsMarkup(definition, controls, uid) {
  const groups = new Map();
  for (const control of controls) {
    const name = control.group ?? "";
    groups.set(name, [...(groups.get(name) ?? []), controlMarkup(definition, control, uid)]);
  }
  return [...groups]
    .map(([name, items]) =>
      name ? `<fieldset class="living-group"><legend>${escape(name)}</legend>${items.join("")}</fieldset>` : items.join(""),
    )
    .join("");
}

// What is being typed, and no state yet, stays until the state itself becomes another.
function fillText(input, value) {
  if (input.written !== value) input.value = input.written = value;
  input.removeAttribute("aria-invalid");
}

// Write a state into the inputs; the one being typed in is left alone.
export function fillControls(root, definition, state) {
  for (const control of definition.controls) {
    const box = root.querySelector(`[data-control="${control.key}"]`);
    box.hidden = control.when ? !control.when(state) : false;
    const entry = definition.schema[control.key];
    for (const input of box.querySelectorAll("[data-key]")) {
      const value = state[control.key];
      input.disabled = control.disabled ? Boolean(control.disabled(state)) : false;
      if (input.type === "checkbox") input.checked = value;
      else if (input.type === "radio") input.checked = input.value === String(value);
      else if ("log" in input.dataset) input.value = toLog(entry, value);
      else if (input.type === "textarea") fillText(input, value);
      else if (input !== input.ownerDocument.activeElement || input.type !== "number") input.value = value;
      if ("log" in input.dataset) input.setAttribute("aria-valuetext", String(value));
    }
    const out = box.querySelector("[data-out]");
    if (out) out.textContent = control.show ? control.show(state[control.key], state) : String(state[control.key]);
  }
}

// What an input says now, as text or number or boolean for the schema to judge.
export function readInput(input, entry) {
  if (input.type === "checkbox") return input.checked;
  if ("log" in input.dataset) return fromLog(entry, Number(input.value));
  return input.value.trim() === "" && entry.type !== "string" ? NaN : read(entry, input.value);
}
