// The roofline: where a pass lands, taken apart into products with weights and attention.
import { DEVICES, MODELS, compute } from "./compute.js";
import { drag, draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { STORED, describe, explain, table } from "./words.js";

export default {
  name: "roofline",
  title: "Where a pass lands",
  schema,
  controls: [
    { key: "phase", kind: "choice", label: "Phase", options: [["decode", "decode"], ["prefill", "prefill"]] },
    { key: "batch", kind: "log", label: "Sequences" },
    { key: "context", kind: "log", label: "Tokens in each" },
    { key: "model", kind: "select", label: "Model", options: [...MODELS.values()].map((model) => [model.name, model.title]) },
    { key: "stored", kind: "select", label: "Stored as", options: Object.entries(STORED) },
    { key: "device", kind: "select", label: "Device", options: [...DEVICES.values()].map((device) => [device.key, device.name]) },
  ],
  drag,
  choose: (result, state, id) => (id === "phase" ? { ...state, phase: result.other.phase } : null),
  main: ["batch"],
  second: { title: "Times of the operations" },
  shares: true,
  compute, draw, describe, table, explain,
};
