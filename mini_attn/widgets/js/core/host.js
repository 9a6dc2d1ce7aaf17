// The page's host: finds the pictures that the build left and puts the living ones beside them.
import { fromHash } from "./hash.js";
import { pageModel } from "./model.js";
import { validate } from "./schema.js";
import { show } from "./view.js";

const link = (hash) => location.href.replace(/#.*$/, "") + hash;

function startState(definition, box) {
  const { schema, name } = definition;
  const written = JSON.parse(box.querySelector("script[type='application/json']").textContent);
  if (!schema) return { state: written, error: null };
  const given = definition.mount ? null : fromHash(name, schema, location.hash);
  const page = validate(schema, written);
  if (!given) return page;
  const asked = validate(schema, { ...page.state, ...given });
  return asked.error
    ? { state: page.state, error: `The link asks for a state that does not exist: ${asked.error}. This is the usual one.` }
    : { ...asked, linked: true };
}

export function mountAll(registry, root = document) {
  for (const box of root.querySelectorAll(".living[data-widget]:not(.living-on)")) {
    const definition = registry[box.dataset.widget];
    if (!definition) continue;
    const start = startState(definition, box);
    const state = definition.settle ? definition.settle(start.state) : start.state;
    const place = document.createElement("div");
    place.className = "living-live";
    box.append(place);
    show(definition, place, pageModel(state), { link, error: start.error });
    box.classList.add("living-on");
    if (start.linked || start.error) box.scrollIntoView();
    if (!performance.getEntriesByName("living:first").length) performance.mark("living:first");
  }
}
