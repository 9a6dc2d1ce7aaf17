// What layers cost whose queries read a few of all: latents that an indexer chooses, and entries that
// stand for several tokens. mini_attn/cost's indexed_latent.py and compressed.py.
import { B, big, least, visiblePairs } from "./whole.js";

const scores = (model, pairs) => 2n * pairs * B(model.index_n_heads) * B(model.index_head_dim + 1);

export function indexedCosts(latent, latentFlops) {
  const weights = (model) => {
    const [d, q, heads, size] = big(model, "d_model", "q_lora_rank", "index_n_heads", "index_head_dim");
    return (q || d) * heads * size + d * (heads + size);
  };
  return {
    parameters: (model) => latent.parameters(model) + weights(model) + 2n * B(model.index_head_dim),
    // A lone token gathers its latents; several are masked.
    flops(model, q, kv, batch) {
      const few = B(model.index_topk);
      const { weights: made, cache } = latentFlops(model, q, q === 1n ? least(kv, few) : kv, batch, few);
      const scored = kv > few ? visiblePairs(q, kv, null) : 0n;
      return { weights: made + 2n * batch * q * weights(model), cache: cache + batch * scores(model, scored) };
    },
    moved(model, q, kv) {
      const [latents, size, few] = [B(model.kv_lora_rank + model.qk_rope_head_dim), B(model.index_head_dim), B(model.index_topk)];
      const read = kv <= few ? kv * latents : (q === 1n ? few : kv) * latents + kv * size;
      return read + q * (latents + size);
    },
  };
}

// Numbers of an entry, and of an indexer's; 0 where a layer has a window alone. Entries to which a
// token adds.
const madeIn = (model) => (model.compress ? B(model.head_dim + model.index_head_dim) : 0n);
const seriesIn = (model) => (model.compress ? (model.index_topk ? 2n : 1n) : 0n);

function compressedWeights(model) {
  const [d, rank, dim, indexHeads] = big(model, "d_model", "q_lora_rank", "head_dim", "index_n_heads");
  const heads = B(model.n_heads) * dim;
  const queries = d * rank + (rank || d) * (heads + indexHeads * B(model.index_head_dim)) + d * indexHeads;
  const [groups, inner] = big(model, "o_groups", "o_lora_rank");
  const out = groups * inner ? heads * inner + groups * inner * d : heads * d;
  return queries + d * (dim + 2n * seriesIn(model) * madeIn(model)) + out;
}

// Complete entries that the first n tokens see, each its own, no more than a few: summed over tokens.
function entriesSeen(n, span, few) {
  const whole = (to) => { const all = to / span; return (span * all * (all - 1n)) / 2n + all * (to - span * all + 1n); };
  if (few === null || n < span * few) return whole(n);
  return whole(span * few - 1n) + few * (n - span * few + 1n);
}

export const compressedCosts = {
  parameters(model) {
    const made = madeIn(model);
    const norms = B(model.q_lora_rank + model.head_dim) + made;
    return compressedWeights(model) + B(model.compress) * seriesIn(model) * made + norms + (model.sinks ? B(model.n_heads) : 0n);
  },
  flops(model, q, kv, batch) {
    const [span, few] = [B(model.compress), model.index_topk ? B(model.index_topk) : null];
    const between = (most) => (span ? entriesSeen(kv, span, most) - entriesSeen(kv - q, span, most) : 0n);
    const pairs = visiblePairs(q, kv, B(model.window)) + between(few);
    const scored = span && few !== null && kv / span > few ? between(null) : 0n;
    return {
      weights: 2n * batch * q * compressedWeights(model),
      cache: batch * (4n * B(model.n_heads) * B(model.head_dim) * pairs + scores(model, scored)),
    };
  },
  moved(model, q, kv) {
    const [span, dim, index, few, window] = big(model, "compress", "head_dim", "index_head_dim", "index_topk", "window");
    const entries = span ? kv / span : 0n;
    const scored = few && entries > few ? entries : 0n;
    const read = least(kv, window + q - 1n) + (scored && q === 1n ? few : entries);
    const series = seriesIn(model), said = 2n * series * madeIn(model);
    const closed = span ? entries - (kv - q) / span : 0n;
    const written = least(q, window) * dim + closed * (dim + index) + said * least(q, series * span);
    return read * dim + scored * index + q * said + written;
  },
};
