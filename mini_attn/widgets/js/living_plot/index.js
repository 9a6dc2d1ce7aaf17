// A living plot: numbers that a cell computed, for each step of what the reader can vary.
// Its data are the page's own, so each figure is a definition of its own, with its own view.
import schema from "./schema.json" with { type: "json" };
import { PlotView } from "./view.js";

// The definition of one figure: its name in links, and the steps that it has.
function made(figure) {
  const step = { ...schema.step, max: Math.max(0, figure.steps.length - 1) };
  const definition = { name: `plot-${figure.name}`, title: figure.panels[0]?.title || figure.control || "Plot", schema: { ...schema, step } };
  return { ...definition, mount: (root, model, { link }) => new PlotView({ ...definition, figure }, root, model, link) };
}

// What the page or the notebook gives; a page that holds none shows the picture that was built.
function given(box, model) {
  if (model) return made(model.get("_figure"));
  try {
    return made(JSON.parse(box.querySelector("script[data-figure]").textContent));
  } catch {
    return null;
  }
}

export default { name: "living_plot", title: "Plot", schema, given };
