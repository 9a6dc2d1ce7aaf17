// The decoder of mini_attn.numpy for one row of tokens: the same steps under the same names, as
// mini_attn/plain/__init__.py tells them. All is computed in float64.
import { add, layerNorm, linear, mlp, rmsNorm } from "./arithmetic.js";
import { ATTENTIONS } from "./attention.js";

const normalise = (x, weights, { norm, eps }) => (norm === "rms_norm" ? rmsNorm(x, weights.weight, eps) : layerNorm(x, weights, eps));

// Room for the keys and values of so many tokens. A window hides what is behind it and lets it lie.
export function newCache({ config }, capacity) {
  if (!Number.isInteger(capacity) || capacity < 1) throw new Error(`a cache holds a whole number of tokens, at least 1, not ${capacity}`);
  return { length: 0, capacity, layers: config.attentions.map((attention) => ATTENTIONS[attention.kind].newCache(attention, capacity)) };
}

function checkTokens({ config }, ids, { length, capacity }) {
  ids.forEach((id, i) => {
    if (!Number.isInteger(id) || id < 0 || id >= config.vocab_size) {
      throw new Error(`a token is a whole number from 0 to ${config.vocab_size - 1}; the one at ${i} is ${id}`);
    }
  });
  const total = length + ids.length;
  if (total > capacity) throw new Error(`the cache has room for ${capacity} tokens, not for ${total}`);
  if (config.positions !== "none" && total > config.max_positions) {
    throw new Error(`this decoder has positions for ${config.max_positions} tokens, not for ${total}`);
  }
}

function checkHeads({ config: { attentions } }, heads) {
  const fits = Array.isArray(heads) && heads.length === attentions.length &&
    attentions.every(({ n_heads: nHeads }, i) => heads[i]?.length === nHeads && heads[i].every(Number.isFinite));
  if (!fits) throw new Error(`heads must be a number for each head of each layer, ${attentions.map(({ n_heads: n }) => n).join(" and ")} of them`);
}

// Token embeddings and what is added for the positions: (tokens, d_model).
function embed({ config, embed_tokens: { weight }, embed_positions: learned }, ids, start) {
  const { d_model: width, positions } = config;
  const x = new Float64Array(ids.length * width);
  ids.forEach((id, t) => {
    for (let i = 0; i < width; i++) {
      x[t * width + i] = weight[id * width + i];
      if (positions === "learned") x[t * width + i] += learned.weight[(start + t) * width + i];
    }
    if (positions === "sinusoidal") {
      for (let i = 0; i < width; i += 2) {
        const angle = (start + t) * 10000 ** (-i / width);
        x[t * width + i] += Math.sin(angle);
        x[t * width + i + 1] += Math.cos(angle);
      }
    }
  });
  return x;
}

// Each head's part of every row times its number: 1 leaves it, 0 switches the head off.
function switched(out, factors, rows) {
  const width = out.length / (rows * factors.length);
  return out.map((value, i) => value * factors[Math.floor(i / width) % factors.length]);
}

// How well each word would follow: norm(x) @ embed_tokens.T, (tokens, vocab_size). Of a stream
// between the layers it is what the decoder would say there.
export function logitsOf(model, x) {
  const { config, embed_tokens: tied, lm_head: own = tied, norm } = model;
  return linear(normalise(x, norm, config), own, x.length / config.d_model);
}

// The pass of new tokens behind those of a cache, which then has them too; without a cache all of
// a row. heads[layer][head] multiplies what a head adds. After an error a cache is as it was.
//   logits (tokens, vocab_size)
//   weights[layer][head] (tokens, length), whom each token reads, of all that there are
//   streams: x (tokens, d_model) at first, then after each attention and each MLP
export function forward(model, ids, { heads = null, cache = null } = {}) {
  if (!ids?.length) throw new Error("ids must be a list of at least one token");
  const rows = ids.length;
  const kept = cache ?? newCache(model, rows);
  checkTokens(model, ids, kept);
  if (heads !== null) checkHeads(model, heads);
  const { config } = model;
  const start = kept.length;
  let x = embed(model, ids, start);
  const streams = [x];
  const weights = config.attentions.map((attention, i) => {
    const layer = model.layers[i];
    const found = ATTENTIONS[attention.kind].run(
      normalise(x, layer.input_layernorm, config), layer.self_attn, attention, kept.layers[i], start, rows,
    );
    const out = heads === null ? found.out : switched(found.out, heads[i], rows); // (tokens, n_heads * v_head_dim)
    x = add(x, linear(out, layer.self_attn.o_proj, rows));
    streams.push(x);
    x = add(x, mlp(normalise(x, layer.post_attention_layernorm, config), layer.mlp, config.activation, rows));
    streams.push(x);
    return found.weights;
  });
  kept.length = start + rows;
  return { logits: logitsOf(model, x), weights, streams };
}

// One more token behind those of a cache: its logits (vocab_size) and whom it reads.
export const step = (model, cache, id, options) => forward(model, [id], { ...options, cache });
