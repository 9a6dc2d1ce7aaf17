// The two models in words: the sentence, the formula, the rows of the table, and Markdown.
import { formula, grouped, ratio, size } from "../cache_calculator/words.js";
import { duration } from "../core/units.js";
import { whole } from "../core/text.js";
import { isState, wideBits } from "../cache_calculator/compute.js";
import { differing } from "./compute.js";

export { formula, grouped, size };

const FACTORS = { layers: "layers that keep", entries: "entries kept", values: "values per entry", bits: "bits per value" };
export const factorName = (key) => FACTORS[key];
export const number = (value) => (Number.isInteger(value) ? grouped(value) : value < 100 ? String(Math.round(10 * value) / 10) : whole(Math.round(value)));
export const fewer = ({ value, plain }) => (!value ? "none" : value < plain ? `${ratio(plain, value).replace(/\.0+$/, "")}× fewer` : value > plain ? `${ratio(value, plain)}× more` : "");
const noun = (n, word) => `${grouped(n)} ${word}${Number(n) === 1 ? "" : "s"}`;

const KINDS = {
  mha: "multi-head attention", gqa: "grouped-query attention", mqa: "multi-query attention",
  latent: "latent attention", window: "sliding window",
};
const spansIn = ({ spans, compress }) => {
  const others = [...new Set(spans.filter((span) => span && span !== compress))].sort((a, b) => a - b);
  return `entries of ${others.map(grouped).join(" or ")} tokens`;
};

// What a kind of layer is called: those that keep all, by their heads.
export function kindName(kind, model) {
  if (kind === "chosen") return `entries of ${grouped(model.compress)} tokens, of which ${grouped(model.index_topk)} are read`;
  if (kind === "entries") return spansIn(model);
  if (kind === "state") return `state of ${grouped(model.linear.n_heads)} heads, ${grouped(model.linear.head_dim)} × ${grouped(model.linear.v_head_dim)}`;
  if (kind === "latent" && model.index_topk) return `latents, of which ${grouped(model.index_topk)} are read`;
  if (kind !== "full") return kind === "window" ? `window of ${grouped(model.window)} tokens` : KINDS[kind];
  const heads = model.full_n_kv_heads || model.n_kv_heads;
  return KINDS[model.n_heads === heads ? "mha" : heads === 1 ? "mqa" : "gqa"];
}

function shrinks({ factors }) {
  const fewerOnes = factors.filter(({ value, plain }) => value < plain);
  if (factors.some(({ value }) => !value)) return "keeps nothing that grows";
  if (!fewerOnes.length) return "shrinks no factor";
  return `shrinks ${fewerOnes.map((factor) => `${FACTORS[factor.key]} ${ratio(factor.plain, factor.value).replace(/\.0+$/, "")}×`).join(" and ")}`;
}

// A windowed layer grows until its window is full.
const windowed = ({ model, bytes_per_token, bytes_later }) => model.window !== null && bytes_later < bytes_per_token;
function growth(cost) {
  const each = `${grouped(cost.bytes_per_token)} bytes per token`;
  const state = cost.state_bytes ? `${size(cost.state_bytes)} of state, and ` : "";
  if (!windowed(cost)) return `keeps ${state}${each}`;
  const later = cost.bytes_later ? grouped(cost.bytes_later) : "nothing";
  return `${state ? `keeps ${state}` : ""}adds ${each} until its windows of ${noun(cost.model.window, "token")} are full, then ${later}`;
}

// A model without a name, in the middle of a sentence.
const within = (title) => title.replace(/^Your /, "your ");

export function describe(costs) {
  const said = costs.map((cost) => (cost.error ? `${cost.title}: ${cost.error}` : `${cost.title} ${growth(cost)}: it ${shrinks(cost)}.`));
  if (costs.length < 2 || costs.some(({ error }) => error)) return said.join(" ");
  const [less, more] = [...costs].sort((a, b) => Number(a.total_bytes - b.total_bytes));
  const times = ratio(more.total_bytes, less.total_bytes);
  const both = less.total_bytes === more.total_bytes ? "Their caches are the same size." : `At ${noun(more.sizes.context, "token")}, the cache of ${within(more.title)} is ${times} times that of ${within(less.title)}.`;
  return `${said.join(" ")} ${both}`;
}

// The same of a state, which no token makes larger.
function perState({ fields, layers }, bits) {
  const [{ numbers }, ...tails] = fields;
  const kept = tails.reduce((all, one) => all + Number(one.numbers) * one.last, 0);
  const beside = kept ? ` and ${grouped(kept)} values of its last tokens × ${bits} bits` : "";
  return `in each of ${noun(layers, "layer")} a state of ${grouped(numbers)} values × ${wideBits(bits)} bits${beside}, whatever the length`;
}

// The same where entries stand for several tokens; a window alone adds nothing.
function perSpan({ fields, layers }, bits) {
  const stay = fields.filter(({ last }) => last === null);
  const each = stay.length ? stay : fields;
  const values = each.reduce((all, { numbers }) => all + Number(numbers), 0);
  const where = stay.length ? `for every ${stay[0].span === 1 ? "token" : noun(stay[0].span, "token")}` : `for each of the last ${noun(fields[0].last, "token")}`;
  return `in ${noun(layers, "layer")} ${grouped(values)} values × ${bits} bits = ${number((values * bits) / 8)} bytes ${where}`;
}

// The bytes of one token in one layer that keeps it, of each kind where they differ.
export function perLayer({ terms, bits }) {
  if (terms.some(({ fields }) => fields.some(({ last }) => last !== null))) return terms.map((term) => (isState(term) ? perState : perSpan)(term, bits)).join(", ");
  const kinds = terms.map(({ fields, rule }) => [fields.reduce((all, { numbers }) => all + Number(numbers), 0), rule]);
  const alike = kinds.every(([values]) => values === kinds[0][0]);
  return kinds.slice(0, alike ? 1 : 2).map(([values, rule]) => {
    const layer = alike ? "and layer" : rule === "all" ? "in a global layer" : "in a windowed layer";
    return `${grouped(values)} values × ${bits} bits = ${number((values * bits) / 8)} bytes per token ${layer}`;
  }).join(", ");
}

// What a factor is called: "1 sequence", but "1 head size".
const quiet = ["keys and values", "head size", "value size"];
export const labelOf = ({ value, label }) => (value === 1 && !quiet.includes(label) ? label.replace(/s$/, "") : label);

// 2 × 32 layers × 8 KV heads × 128 × 2 bytes × 8,192 tokens × 1 sequence = 1,073,741,824 bytes
export function formulaText(cost) {
  const said = ({ sign, ...factor }) => sign ?? `${grouped(factor.value)}${quiet.includes(factor.label) ? "" : ` ${labelOf(factor)}`}`;
  return `${formula(cost).map(said).join(" ")} = ${grouped(cost.total_bytes)} bytes`.replaceAll("( ", "(").replaceAll(" )", ")");
}

const devices = ({ weight_bytes, total_bytes, device_bytes }) => (weight_bytes + total_bytes + device_bytes - 1n) / device_bytes;

// The least time of a pass on one device, or on as many as the model needs, each with an equal part.
function bound({ seconds, waiting }, cost) {
  const parts = devices(cost);
  return `${duration(seconds / Number(parts))}${parts > 1n ? ` on ${grouped(parts)} devices` : ""}, mostly ${waiting ? "reading" : "computing"}`;
}

function longest(cost) {
  const none = cost.weight_bytes > cost.device_bytes;
  const fits = none ? "none" : cost.max_context === null ? "any length" : noun(cost.max_context, "token");
  return `${fits} (it was made for ${grouped(cost.model.max_context)})`;
}

// [what, of each model] of the numbers.
export function rows(costs, state) {
  const each = (what, words) => [what, ...costs.map((cost) => (cost.error ? "–" : words(cost)))];
  const used = `${noun(state.context, "token")}, ${noun(state.batch, "sequence")}`;
  return [
    each("Cache per token", (cost) => `${size(cost.bytes_per_token)}${windowed(cost) ? `, then ${cost.bytes_later ? size(cost.bytes_later) : "nothing"}` : ""}`),
    each(`Cache of ${used}`, (cost) => `${size(cost.total_bytes)}${cost.state_bytes ? `, ${size(cost.state_bytes)} of it state` : ""}`),
    each("Parameters", (cost) => `${(Number(cost.parameters) / 1e9).toPrecision(3)} billion${cost.active === cost.parameters ? "" : `, ${(Number(cost.active) / 1e9).toPrecision(3)} active`}`),
    each("Weights", (cost) => size(cost.weight_bytes)),
    each("Devices for weights and cache", (cost) => grouped(devices(cost))),
    each(`Sequences that fit on one`, (cost) => (cost.weight_bytes > cost.device_bytes ? "not even the weights" : grouped(cost.max_sequences))),
    each(`Longest context that fits on one${state.batch > 1 ? `, ${noun(state.batch, "sequence")}` : ""}`, longest),
    each("Decode step, at least", (cost) => bound(cost.decode, cost)),
    each("Prefill, at least", (cost) => bound(cost.prefill, cost)),
  ];
}

const SIZES = {
  attention: "attention", n_layers: "layers", d_model: "model width", n_heads: "query heads", n_kv_heads: "KV heads", head_dim: "head size",
  spans: "tokens of an entry", compress: "tokens of an entry with an indexer", index_n_heads: "indexer heads", index_head_dim: "index key size", index_topk: "read of those indexed",
  linear: "layers with a state", out_gate: "gate of attention's output", shared_d_ff: "width of the expert all tokens take",
  o_groups: "output groups", o_lora_rank: "output rank",
  v_head_dim: "value size", kv_lora_rank: "latent rank", qk_rope_head_dim: "RoPE key size", q_lora_rank: "query rank", window: "window", full_every: "one full layer in", full_layers: "full layers",
  full_head_dim: "head size of full layers", full_n_kv_heads: "KV heads of full layers", n_kv_shared_layers: "layers that read another's cache", k_eq_v: "values from the key projection", v_norm: "norm of values",
  per_layer_dim: "inputs of each layer", layer_scalars: "a factor of each layer", wide_readers: "wider MLPs where a cache is read",
  d_ff: "MLP width", n_experts: "experts", experts_per_token: "experts per token", n_shared_experts: "shared experts", expert_d_ff: "expert width",
  n_dense_layers: "layers without experts", vocab_size: "vocabulary", max_context: "longest context", tied_embeddings: "tied embeddings", biases: "biases", qk_norm: "norm of queries and keys",
};
const stateOf = ({ attention, n_heads, head_dim, v_head_dim }) => (attention ? `${attention.replaceAll("_", " ")}, ${n_heads} heads, ${head_dim} × ${v_head_dim}` : "–");
const plain = (value) => (value && typeof value === "object" && !Array.isArray(value) ? stateOf(value) : Array.isArray(value) ? `${value.length}` : value === true ? "yes" : value === false || value === null || value === 0 ? "–" : typeof value === "number" ? grouped(value) : String(value).replaceAll("_", " "));

// [what, of each model, whether they differ] of the sizes that one of them has.
export function sizeRows(models) {
  const apart = models.length > 1 ? differing(...models) : [];
  return Object.entries(SIZES)
    .filter(([name]) => models.some((model) => plain(model[name]) !== "–"))
    .map(([name, words]) => ({ cells: [words, ...models.map((model) => plain(model[name]))], differs: apart.includes(name) }));
}

export function markdown(costs, state, deviceName, address) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  const titles = costs.map(({ title }) => title);
  const sizes = sizeRows(costs.map(({ model }) => model)).map(({ cells, differs }) => line([differs ? `**${cells[0]}**` : cells[0], ...cells.slice(1)]));
  const formulas = costs.filter(({ error }) => !error).map((cost) => `- ${cost.title}: ${formulaText(cost)}`);
  return [
    line(["", ...titles]), line(["---", ...titles.map(() => "---:")]),
    ...rows(costs, state).map(line), ...sizes, "",
    `Cache in ${state.dtype}, weights in ${[...new Set(costs.map(({ weight_dtype }) => weight_dtype).filter(Boolean))].join(" and ") || state.weight_dtype}, on the ${deviceName}:`, "", ...formulas,
    ...(address ? ["", address] : []),
  ].join("\n");
}
