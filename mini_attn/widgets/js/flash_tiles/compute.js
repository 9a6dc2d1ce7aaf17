// Attention of one head in tiles: which are computed, what is moved for them, and what is held.
import schema from "./schema.json" with { type: "json" };

const NUMBER = 2; // bytes of a number in the large memory: bfloat16
const SUM = 4; // of one that is summed up in the fast memory: float32
const STEPS = schema.step.max;
export const KILO = 1000;

const sum = (values) => values.reduce((a, b) => a + b);
const tileOf = (step, tiles) => Math.ceil((step * tiles) / STEPS); // 0: none yet

// A step goes on to another tile, however few there are.
export function update(state, key, value) {
  const next = { ...state, [key]: value };
  const by = key === "step" && value - state.step;
  const { tile, tiles } = compute(state);
  if (by * by !== 1 || state.step === STEPS) return next;
  while (next.step % STEPS && tileOf(next.step, tiles) === tile) next.step += by;
  return next;
}

export function compute(state) {
  const { tokens, step, block_q: bq, block_k: bk, head_dim: d, memory, causal } = state;
  const [nq, nk] = [tokens / bq, tokens / bk];
  // Tiles of each row: those with a key that some query may see.
  const rows = Array.from({ length: nq }, (_, i) => (causal ? Math.ceil(((i + 1) * bq) / bk) : nk));
  const tiles = sum(rows);
  const tile = tileOf(step, tiles);
  let [row, column] = [0, Math.max(0, tile - 1)];
  while (column >= rows[row]) column -= rows[row++];
  // What the fast memory holds while a tile is computed: rows, columns, and bytes of each number.
  const parts = Object.entries({ q: [bq, d, NUMBER], k: [bk, d, NUMBER], v: [bk, d, NUMBER], o: [bq, d, SUM], s: [bq, bk, SUM], m: [2, bq, SUM] })
    .map(([name, size]) => ({ name, size, bytes: size[0] * size[1] * size[2] }));
  const used = sum(parts.map(({ bytes }) => bytes));
  const once = NUMBER * tokens * d;
  const again = NUMBER * tiles * bk * d;
  const scores = NUMBER * tiles * 4 * bq * bk;
  const tiled = 2 * (once + again);
  return {
    ...state, nq, nk, rows, tiles, tile, row, column, done: step === STEPS, share: tile / tiles,
    skipped: nq * nk - tiles, masked: causal ? sum(rows.map((n, i) => n - Math.floor((i * bq) / bk))) : 0,
    moved: { q: once, k: again, v: again, o: once }, scores, tiled, written_down: tiled + scores,
    products: 4 * bq * bk * d * tiles, rescaling: tiles * bq * d,
    parts, used, over: Math.max(0, used - memory * KILO),
  };
}
