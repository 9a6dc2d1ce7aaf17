// Jupyter: an ES module with the interface of anywidget's front-end modules.
import registry from "./everything.js";
import { show } from "./core/view.js";

export default {
  render({ model, el }) {
    const known = registry[model.get("_widget")];
    const definition = known.given?.(el, model) ?? known;
    el.classList.add("living", "living-on");
    const place = el.ownerDocument.createElement("div");
    place.className = "living-live";
    el.append(place);
    const view = show(definition, place, model);
    return () => view.remove();
  },
};
