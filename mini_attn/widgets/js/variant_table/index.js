// All variants at one shape: what a cached step keeps, computes, reads and how many fit, over the context.
import { DEVICES, compute } from "./compute.js";
import { drag, draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

export default {
  name: "variant_table",
  title: "The variants side by side",
  schema,
  controls: [
    { key: "batch", label: "Sequences (batch)", kind: "log" },
    { key: "device", label: "Device", kind: "select", options: schema.device.values.map((key) => [key, DEVICES.get(key).name]) },
  ],
  main: ["batch"],
  shares: true,
  choose: (_, state, id) => (id.startsWith("show-") ? { ...state, measure: id.slice(5) } : null),
  compute, drag, draw, describe, table, explain,
};
