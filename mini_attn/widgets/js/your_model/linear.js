// What layers with a state cost: mini_attn/cost's linear.py and recurrence.py. A lone token reads and
// writes the state, several are taken in chunks.
import told from "../data/your_model.json" with { type: "json" };
import { B, big, least, sum } from "./whole.js";

const CHUNK = 64n;
const below = (n) => (n * (n - 1n)) / 2n; // pairs of a token and an earlier one
const ruleOf = ({ attention }) => told.linear_rules[attention];

function widths(model) {
  const [heads, shared, key, value] = big(model, "n_heads", "n_key_heads", "head_dim", "v_head_dim");
  return { heads, key, value, keys: (ruleOf(model).shares_keys ? shared : heads) * key, values: heads * value };
}

// [columns, rows] of the products into the layer.
function into(model) {
  const { decay, delta } = ruleOf(model);
  const d = B(model.d_model), { heads, key, keys, values } = widths(model);
  const gates = decay === "channel" ? [[d, key], [key, values], [d, key], [key, keys]] : [[d, values]];
  const each = B((decay === "head" ? 1 : 0) + (delta ? 1 : 0));
  return [[d, 2n * keys + values], ...gates, [d, each * heads]];
}

const weightsInto = (model) => sum(into(model).map(([columns, rows]) => columns * rows));

// Products with the state and within chunks.
function recurrence(model, q) {
  const { delta } = ruleOf(model), { heads, key, value } = widths(model);
  const length = least(q, CHUNK);
  const pairs = q === 1n ? 0n : (q / length) * below(length) + below(q % length);
  const own = q === 1n ? 0n : pairs + q;
  const corrected = delta ? pairs : 0n;
  return 2n * heads * ((own + corrected) * key + (own + corrected) * value + q * (delta ? 3n : 2n) * key * value);
}

export const linearCosts = {
  parameters(model) {
    const rule = ruleOf(model), { heads, key, value, keys, values } = widths(model);
    const d = B(model.d_model);
    const rows = sum(into(model).map(([, made]) => made));
    const biases = (model.biases === "none" ? 0n : rows) + (model.biases === "attention" ? d : 0n);
    const taps = model.conv_kernel > 1 ? B(model.conv_kernel + (model.conv_bias ? 1 : 0)) : 0n;
    const decays = { channel: heads + heads * key, head: 2n * heads, constant: 0n }[rule.decay];
    const skipped = model.attention === "mamba2" ? heads : 0n;
    return weightsInto(model) + values * d + biases + taps * (2n * keys + values) + decays + skipped + (model.norm_over === "head" ? value : values);
  },
  flops: (model, q, kv, batch) => ({
    weights: 2n * batch * q * (weightsInto(model) + widths(model).values * B(model.d_model)),
    cache: batch * recurrence(model, q),
  }),
  // What a convolution looks back at; and the state, which is float32 at least, read and written.
  moved(model, q, kv) {
    const { keys, values } = widths(model), taps = B(Math.max(0, model.conv_kernel - 1));
    return (2n * keys + values) * (least(kv, taps) + least(q, taps));
  },
  wide(model) {
    const { heads, key, value } = widths(model);
    return 2n * heads * key * value;
  },
};
