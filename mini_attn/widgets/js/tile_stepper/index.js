// A matrix product, step by step: the same FLOPs, and fewer numbers moved the more are held.
import { compute } from "./compute.js";
import { WIDE, drag, draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

export default {
  name: "tile_stepper",
  title: "A matrix product in tiles",
  schema,
  controls: [
    { key: "tile", kind: "choice", label: "Tile", options: [[1, "1 × 1"], [2, "2 × 2"], [4, "4 × 4"]] },
    { key: "rows", kind: "choice", label: "Rows of x", options: [[4, "4"], [2, "2"], [1, "1"]] },
    { key: "step", kind: "range", label: "Step", show: (step) => `${step} of ${schema.step.max}` },
  ],
  main: ["step", "tile", "rows"],
  second: { title: "Numbers moved so far", upTo: WIDE },
  play: { key: "step", milliseconds: 700 },
  drag, compute, draw, describe, table, explain,
};
