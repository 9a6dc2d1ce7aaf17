// Attention in tiles: what a small fast memory holds, and what the large slow one is asked for.
import { compute, update } from "./compute.js";
import { drag, draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

const select = (key, label) => ({ key, label, kind: "select", options: schema[key].values });

export default {
  name: "flash_tiles",
  title: "Attention in tiles",
  schema,
  controls: [
    { key: "step", kind: "range", label: "Tile", show: (_, state) => { const { tile, tiles } = compute(state); return `${tile} of ${tiles}`; } },
    { key: "memory", kind: "range", label: "Fast memory", show: (n) => `${n} kB` },
    select("block_q", "Queries per block"), select("block_k", "Keys per block"), select("tokens", "Tokens N"), select("head_dim", "head_dim"),
    { key: "causal", kind: "toggle", label: "Causal" },
    { key: "written", kind: "toggle", label: "Scores materialized" },
  ],
  play: { key: "step", milliseconds: 500 },
  drag, update, compute, draw, describe, table, explain,
};
