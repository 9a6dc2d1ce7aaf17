// Longer contexts: what each scaling method does to every plane, on one axis.
import { whole } from "../core/text.js";
import { compute } from "./compute.js";
import { drag, draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

export default {
  name: "rope_scaling",
  title: "Scaling methods for longer contexts, plane by plane",
  schema,
  controls: [
    { key: "rule", kind: "select", label: "Method", options: [
      ["none", "none"], ["interpolation", "position interpolation"], ["ntk", "NTK-aware"], ["dynamic", "dynamic NTK"],
      ["yarn_code", "YaRN, as in its code"], ["yarn_paper", "YaRN, as in its paper"], ["llama3", "Llama 3"]] },
    { key: "trained", kind: "choice", label: "Trained on", options: schema.trained.values.map((n) => [n, whole(n)]) },
    { key: "theta", kind: "choice", label: "Base", options: schema.theta.values.map((n) => [n, whole(n)]) },
  ],
  main: ["rule"],
  drag, compute, draw, describe, table, explain,
};
