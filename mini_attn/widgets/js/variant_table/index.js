// All variants at one shape: what a cached step keeps, computes, reads and how many fit.
import { DEVICES, compute } from "./compute.js";
import { draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

export default {
  name: "variant_table",
  title: "The variants side by side",
  schema,
  controls: [
    { key: "context", label: "Tokens in each (context)", kind: "log" },
    { key: "batch", label: "Sequences (batch)", kind: "log" },
    { key: "device", label: "Device", kind: "select", options: schema.device.values.map((key) => [key, DEVICES.get(key).name]) },
  ],
  main: ["context"],
  shares: true,
  compute, draw, describe, table, explain,
};
