// Attention in tiles: what a small fast memory holds, and what the large slow one is asked for.
import { compute, update } from "./compute.js";
import { drag, draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

export default {
  name: "flash_tiles",
  title: "Attention in tiles",
  schema,
  controls: [
    { key: "step", kind: "range", label: "Tile", show: (_, state) => { const { tile, tiles } = compute(state); return `${tile} of ${tiles}`; } },
    { key: "causal", kind: "toggle", label: "Causal" },
  ],
  play: { key: "step", milliseconds: 500 },
  // A bar of either loop shows that loop.
  choose: (_, state, id) => (/-(tiles|written)$/.test(id) ? { ...state, written: id.endsWith("written") } : null),
  drag, update, compute, draw, describe, table, explain,
};
