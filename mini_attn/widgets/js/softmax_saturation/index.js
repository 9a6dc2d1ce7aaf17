// What head_dim does to a row of scores, its weights and the gradient, with and without a scale.
import { compute } from "./compute.js";
import { drag, draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

export default {
  name: "softmax_saturation",
  title: "Why the scores are scaled",
  schema,
  controls: [
    { key: "divisor", kind: "choice", label: "Divide q · k by", options: [["one", "1"], ["head_dim", "√head_dim"], ["d_model", "√d_model"]] },
    { key: "head_dim", kind: "log", label: "head_dim" },
  ],
  buttons: [["toss", "Toss again", "main"]],
  actions: { toss: (view) => view.put("draw", (view.state.draw % schema.draw.max) + 1) },
  drag,
  compute, draw, describe, table, explain,
};
