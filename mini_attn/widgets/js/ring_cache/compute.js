// Slots of the ring, and the weights with the window's mask and without it.
import { softmax } from "../attention/arithmetic.js";
import { attend, example, tokens, scaleOf } from "../attention/example.js";

const { embeddings, head_dim: headDim, n_heads: nHeads } = example;
const pass = attend(example, embeddings); // every token, all scores

// Which token lies in each slot after `step` tokens; null where none has come yet.
function slotsAfter(step, window) {
  const slots = Array.from({ length: window }, () => null);
  for (let position = 0; position < step; position++) slots[position % window] = position;
  return slots;
}

function kindOf(position, newest, window) {
  if (position > newest) return "later";
  if (position === newest) return "new";
  return newest - position < window ? "held" : "gone";
}

export function compute({ step, window, head }) {
  const newest = step - 1;
  const scores = pass.heads[head - 1].scores[newest]; // one for each token so far
  const full = softmax(scores);
  const first = Math.max(0, step - window);
  const visible = softmax(scores.slice(first));
  const rows = tokens.map((token, position) => {
    const kind = kindOf(position, newest, window);
    return {
      token, position, kind, slot: position % window,
      score: scores[position] ?? null, full: full[position] ?? null,
      weight: position > newest ? null : position < first ? 0 : visible[position - first],
    };
  });
  const lost = rows.reduce((sum, row) => sum + (row.kind === "gone" ? row.full : 0), 0);
  return {
    step, window, head, rows, newest, first, lost, scale: scaleOf(example), slots: slotsAfter(step, window),
    q: pass.heads[head - 1].q[newest], keys: pass.heads[head - 1].cached.k,
    overwritten: newest >= window ? newest - window : null,
    cached: Math.min(step, window), kept_all: 2 * nHeads * headDim * step, kept_ring: 2 * nHeads * headDim * window,
  };
}
