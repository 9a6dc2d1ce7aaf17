// The example's matrices cut into two heads or one, and what each head adds to the output.
import { largest, rowTimes } from "../attention/arithmetic.js";
import { attend, example, scaleOf, tokens } from "../attention/example.js";
import fourHeads from "../data/example_heads.json" with { type: "json" };
import schema from "./schema.json" with { type: "json" };

const width = example.n_heads * example.head_dim;
// What the two heads ask for, in the words of the example with four of which they are two.
const QUESTIONS = [fourHeads.questions[0], fourHeads.questions[2]];

// The same four matrices, their columns cut into so many heads.
const layerOf = (nHeads) => ({ ...example, n_heads: nHeads, head_dim: width / nHeads });
const computed = Object.fromEntries(schema.n_heads.values.map((nHeads) => {
  const layer = layerOf(nHeads);
  return [nHeads, { layer, ...attend(layer, example.embeddings) }];
}));

// What a head adds to the output: its average times the rows of W_o that are its own.
const contribution = (average, h, headDim) => rowTimes(average, example.weights.o.slice(h * headDim, (h + 1) * headDim));

function headOf(head, h, { token, n_heads: nHeads }, headDim) {
  const average = head.out[token];
  return {
    name: nHeads === 1 ? "One head" : `Head ${h + 1}`,
    question: nHeads === 1 ? "both at once" : QUESTIONS[h],
    q: head.q[token], k: head.k, v: head.v, scores: head.scores[token], weights: head.weights[token],
    out: average, adds: contribution(average, h, headDim), first: h * headDim,
  };
}

export function compute(state) {
  const { layer, heads, outputs } = computed[state.n_heads];
  return {
    ...state, tokens, width, scale: scaleOf(layer), head_dim: layer.head_dim, w_o: layer.weights.o,
    heads: heads.map((head, h) => headOf(head, h, state, layer.head_dim)),
    // What two heads have, for one to be seen beside.
    apart: state.n_heads === 1 ? computed[2].heads.map(({ weights, out }) => ({ weights: weights[state.token], out: out[state.token] })) : [],
    output: outputs[state.token], features: example.content_features,
    extent: Object.fromEntries(["q", "k", "v"].map((name) => [name, largest(computed[2].heads.map((head) => head[name]))])),
  };
}
