// The page's host: finds the pictures that the build left and puts the living ones beside them.
import { bring, listen, reveal } from "./dock.js";
import { fromHash } from "./hash.js";
import { pageModel } from "./model.js";
import { defaults, validate } from "./schema.js";
import * as shape from "./shape.js";
import { show } from "./view.js";

const setters = []; // one of each picture: takes over what a hash asks of it, and says whether it did
const link = (hash) => location.href.replace(/#.*$/, "") + hash;

// The state that the page was built with.
function written(definition, box) {
  try {
    const state = JSON.parse(box.querySelector("script[type='application/json']").textContent);
    return definition.schema ? validate(definition.schema, state) : { state, error: null };
  } catch {
    return { state: definition.schema ? defaults(definition.schema) : {}, error: "the page holds no readable state" };
  }
}

// The part of the picture that an address points at, behind the state: #rotor:position=8&at=q-0
const AT = /&at=([\w-]+)$/;

// What an address asks of this widget: a checked state, or an error beside the present state. What
// it does not name has its default, or for a phrase of the text what the page gave it.
function asked({ name, schema, settle }, present, hash = location.hash, rest = null) {
  const given = schema ? fromHash(name, schema, hash.replace(AT, "")) : null;
  if (!given) return null;
  const { state, error } = validate(schema, { ...(rest ?? defaults(schema)), ...given });
  if (error) return { state: present, error: `The link asks for a state that does not exist: ${error}. Nothing was changed.` };
  return { state: settle ? settle(state) : state, error: null };
}

// What the reader chose before; what the page itself asks for stays.
function remembered(definition, state) {
  const usual = defaults(definition.schema);
  const next = shape.chosen(definition, state);
  return Object.keys(usual).every((key) => state[key] === usual[key]) ? next : state;
}

function share(definition, view) {
  view.chosen = (before, after) => shape.choose(view, before, after);
  view.forgotten = shape.forget;
  shape.whenChosen((source) => {
    if (source === view) return;
    const next = shape.chosen(definition, view.state);
    if (next !== view.state) view.follow(next);
  });
}

function mount(definition, box) {
  const built = written(definition, box);
  const own = definition.settle ? definition.settle(built.state) : built.state;
  const start = definition.shares ? remembered(definition, own) : own;
  const linked = asked(definition, start);
  const place = document.createElement("div");
  place.className = "living-live";
  box.append(place);
  const model = pageModel(linked?.state ?? start);
  const view = show(definition, place, model, { link, error: linked?.error ?? built.error });
  box.classList.add("living-on");
  if (linked && !linked.error) view.pointAt?.(location.hash.match(AT)?.[1]);
  if (definition.shares) share(definition, view);
  // Once there is enough below it to scroll.
  if (linked) document.readyState === "loading" ? addEventListener("DOMContentLoaded", () => box.scrollIntoView()) : box.scrollIntoView();
  if (!setters.length) followLinks();
  setters.push((hash, phrase) => {
    const next = asked(definition, view.state, hash, phrase && own);
    if (!next) return false;
    view.complain(next.error);
    if (!phrase) box.scrollIntoView();
    else if (!next.error) {
      bring({ box, title: definition.title, view }, phrase, keysOf(definition, hash));
      view.whenChanged = reveal; // now, or when what the state needs has come
    }
    if (next.error) return true;
    view.write(next.state);
    const part = view.pointAt?.(hash.match(AT)?.[1]); // a plot has no parts to point at
    if (phrase && part) reveal((part.closest("[data-panel]") ?? part).getBoundingClientRect());
    return true;
  });
}

const keysOf = ({ name, schema }, hash) => Object.keys(fromHash(name, schema, hash.replace(AT, "")));

// A link to a state elsewhere on the page acts at once; where it is a phrase of the text, the
// picture comes to the reader, and otherwise the reader to the picture.
function followLinks() {
  addEventListener("hashchange", () => setters.some((set) => set(location.hash)));
  document.addEventListener("click", (event) => {
    const phrase = event.target.closest?.("a.sets");
    if (phrase && setters.some((set) => set(phrase.hash, phrase))) event.preventDefault();
  });
  listen();
}

export function mountAll(registry, root = document) {
  for (const box of root.querySelectorAll(".living[data-widget]:not(.living-on)")) {
    if (!Object.hasOwn(registry, box.dataset.widget)) continue;
    // A plot's data, and with them its name and its steps, are the page's own.
    const { given, ...known } = registry[box.dataset.widget];
    const definition = given ? given(box) : known;
    if (!definition) continue;
    mount(definition, box);
    if (!performance.getEntriesByName("living:first").length) performance.mark("living:first");
  }
}
