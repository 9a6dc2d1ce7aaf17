// The calculator in words and numbers: units, the formula with its numbers put in, the
// sentence that is read aloud and the table. The picture writes the same words.
import { BITS, OWN, OWN_SIZES, isState, spansOf, wideBits } from "./compute.js";

const SAID = OWN_SIZES.filter(({ word }) => word);
const FACTOR_WORDS = {
  head_dim: "head size", v_head_dim: "value size",
  ...Object.fromEntries(SAID.map(({ name, word }) => [name, word])),
};
// Why each number is in the product.
const WHY = {
  "keys and values": "each KV head stores one key and one value per token",
  layers: "every layer has its own cache",
  "global layers": "these layers keep every token",
  "windowed layers": "these layers keep the last tokens, as many as the window holds",
  "keeping layers": "each has its own cache; the other layers keep nothing and read one of these",
  "keeping global layers": "these layers keep every token, and later layers that see all read one of them",
  "keeping windowed layers": "these layers keep the last tokens, and later layers with a window read one of them",
  "KV heads": "query heads leave nothing in the cache",
  "head size": "values in one key, and in one value vector",
  "value size": "values in one value vector",
  ...Object.fromEntries(SAID.map(({ word, why }) => [word, why])),
  bytes: "per value in this data type",
  byte: "per value in this data type",
  tokens: "all tokens read or written so far",
  "tokens kept": "as many as the window holds, however long the sequence is",
  sequences: "each has its own cache",
  "slots of its own": "whole pages of 16 tokens, without those that all sequences share",
  "complete blocks": "each stores the mean of its keys and the mean of its values",
  "complete blocks of its own": "each stores the mean of its keys and the mean of its values",
  "shared complete blocks": "their means are stored with the pages of the shared prefix, once",
  "last tokens": "no more than a window or an unfinished entry needs, however long the sequence is",
  entries: "one for each complete span of tokens",
  "attention layers": "these layers keep every token",
  "layers with a state": "what they keep doesn't grow with the tokens",
  "state values": "one matrix per head, in float32 at least, however long the sequence is",
  values: "in one layer, of each token or entry",
  "shared slots": "the full pages of the shared prefix, stored once",
};

export const grouped = (whole) => String(whole).replace(/\B(?=(\d{3})+(?!\d))/g, ",");

const UNITS = [[1e15, "PB"], [1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]];

// Decimal units, as design says: GB is 1e9 bytes.
export function size(bytes) {
  const number = Number(bytes);
  const [scale, unit] = UNITS.find(([least]) => number >= least) ?? [1, "bytes"];
  const value = number / scale;
  const digits = unit === "bytes" ? 0 : value < 10 ? 2 : value < 1000 ? 2 : 0;
  return `${value.toFixed(digits)} ${unit}`;
}

export function binarySize(bytes) {
  const number = Number(bytes);
  const [scale, unit] = number >= 2 ** 40 ? [2 ** 40, "TiB"]
    : number >= 2 ** 30 ? [2 ** 30, "GiB"] : number >= 2 ** 20 ? [2 ** 20, "MiB"] : [2 ** 10, "KiB"];
  return `${(number / scale).toFixed(2)} ${unit}`;
}

export function ratio(a, b) {
  const value = Number(a) / Number(b);
  if (value >= 100) return grouped(Math.round(value));
  if (value >= 10) return value.toFixed(1);
  return value >= 0.01 ? value.toFixed(2) : value.toPrecision(1);
}

export const roundSize = (bytes) => size(bytes).replace(".00 ", " ");

// The four figures, as [number, how it is written]; of numbers that do not go together there are none.
export const counts = (result) => (result.error ? {} : {
  cache: [Number(result.total_bytes), size],
  beside: [Number(result.total_bytes) / Number(result.weight_bytes), (value) => `${ratio(value, 1)}×`],
  token: [Number(result.bytes_per_token), size],
  fit: [Number(result.max_sequences), (value) => grouped(Math.round(value))],
});

// 4, 7.5, 71.1: how many times, without a tail of zeros.
function times(a, b) {
  const value = Number(a) / Number(b);
  return Number.isInteger(value) ? grouped(value) : ratio(a, b);
}

const number = (value, label) => ({ value, label, why: WHY[label] });
const sign = (text) => ({ sign: text });

function join(groups, between) {
  return groups.flatMap((group, index) => (index ? [sign(between), ...group] : group));
}

function inBrackets(groups, between) {
  const inside = join(groups, between);
  return groups.length > 1 ? [sign("("), ...inside, sign(")")] : inside;
}

// Of heads that devices share, a number says of how many.
const headWords = (value, heads) => (value === heads ? number(value, "KV heads")
  : { value, label: `of ${heads} KV heads`, why: "the heads of each device; query heads leave nothing in the cache" });
const factorWords = (field, heads) => field.factors.map(({ name, value }) => (
  name === "n_kv_heads" ? headWords(value, heads) : number(value, FACTOR_WORDS[name] ?? name)));

function sameFactors(fields) {
  const values = fields.map((field) => field.factors.map((factor) => factor.value).join());
  return fields.length === 2 && values[0] === values[1] && fields[0].factors.length > 1;
}

const sharing = ({ sizes }) => sizes.shared_layers > 0;

function layerWords(result, term) {
  const alone = result.terms.length === 1;
  const kind = `${sharing(result) ? "keeping " : ""}${alone ? "" : term.rule === "all" ? "global " : "windowed "}layers`;
  const tokens = { all: "tokens", window: "tokens kept", pages: "slots of its own" }[term.rule];
  return { layers: number(term.layers, kind), tokens: number(term.kept, tokens) };
}

// Means of blocks are as long as keys and values: complete blocks count like tokens.
function blockWords(fields, term) {
  const { span } = fields.at(-1);
  if (span === 1) return { own: [], once: [] };
  const { own, once } = spansOf(term, span);
  const label = term.once ? "complete blocks of its own" : "complete blocks";
  return { own: [[number(own, label)]], once: once ? [[number(once, "shared complete blocks")]] : [] };
}

// Numbers of a token in so many layers: 2 × layers × KV heads × head size, where values are as keys.
function tokenWords(fields, heads, layers) {
  return sameFactors(fields)
    ? [[number(2, "keys and values")], layers, ...factorWords(fields[0], heads).map((word) => [word])]
    : [inBrackets(fields.map((field) => join(factorWords(field, heads).map((w) => [w]), "×")), "+"), layers];
}

const factorsIn = ({ fields }) => JSON.stringify(fields.map(({ factors }) => factors));

// Where only the last tokens keep some numbers, each group of fields has its own count of tokens.
function ringGroups({ fields, kept }) {
  const groups = new Map();
  for (const { span, last, numbers } of fields) {
    const key = `${span} ${last}`;
    groups.set(key, { span, last, numbers: (groups.get(key)?.numbers ?? 0n) + numbers });
  }
  return inBrackets([...groups.values()].map(({ span, last, numbers }) => [
    last === null ? number(Math.floor(kept / span), "entries") : number(Math.min(kept, last), "last tokens"),
    sign("×"), number(Number(numbers), "values"),
  ]), "+");
}

// A state is float32 at least, and what a convolution keeps beside it is of the cache's type.
function stateParts({ fields, kept }, bits, alone) {
  const groups = [true, false].map((wide) => fields.filter((field) => field.wide === wide)).filter((own) => own.length);
  return groups.map((own) => {
    const { wide, last } = own[0];
    const values = own.reduce((all, { numbers }) => all + Number(numbers), 0);
    const size = (wide ? wideBits(bits) : bits) / 8;
    const words = [number(values, wide ? "state values" : "values"), number(size, size === 1 ? "byte" : "bytes")];
    if (wide) return join(words.map((word) => [word]), "×");
    const tokens = Math.min(kept, last); // beside other layers one number stands for both: few stay to look at
    const tail = alone ? [number(tokens, "last tokens"), words[0]] : [{ value: tokens * values, label: `values of ${count(tokens, "token")}`, why: WHY["last tokens"] }];
    return join([...tail, words[1]].map((word) => [word]), "×");
  });
}

// Layers with a state, alone or beside others.
function stateWords(result) {
  const { terms, sizes, bits } = result, alone = terms.length === 1;
  const kinds = terms.map((term) => {
    if (isState(term)) return join([[number(term.layers, alone ? "layers" : "layers with a state")], inBrackets(stateParts(term, bits, alone), "+")], "×");
    const each = number(bits / 8, bits === 8 ? "byte" : "bytes");
    const layers = [number(term.layers, "attention layers")];
    const token = sameFactors(term.fields) ? tokenWords(term.fields, term.heads, layers) : [[number(term.fields.reduce((all, { numbers }) => all + Number(numbers), 0), "values")], layers];
    return join([...token, [each], [layerWords(result, term).tokens]], "×");
  });
  return join([alone ? kinds[0] : inBrackets(kinds, "+"), [number(sizes.batch, "sequences")]], "×");
}

// Numbers that a layer of a kind holds.
const heldIn = ({ fields, kept }) => fields.reduce((all, { span, last, numbers }) => all + Number(numbers) * Math.floor(Math.min(kept, last ?? kept) / span), 0);

function ringWords({ terms, sizes }, each) {
  const sequences = number(sizes.batch, "sequences");
  if (terms.length === 1) return join([[number(terms[0].layers, "layers")], [each], ringGroups(terms[0]), [sequences]], "×");
  const why = "their windows, their entries and what waits to become one";
  const kinds = terms.map((term) => [{ value: term.layers * heldIn(term), label: `values in ${count(term.layers, "layer")}`, why }]);
  return join([inBrackets(kinds, "+"), [each], [sequences]], "×");
}

// The formula as a list of numbers with labels and signs: the product equals total_bytes.
export function formula(result) {
  const { terms, sizes, bits } = result;
  if (terms.some(isState)) return stateWords(result);
  if (terms.some(({ fields }) => fields.some(({ last }) => last !== null))) {
    return ringWords(result, number(bits / 8, bits === 8 ? "byte" : "bytes"));
  }
  const blocks = blockWords(terms[0].fields, terms[0]);
  const fields = terms[0].fields.slice(0, blocks.own.length ? 2 : undefined); // those of a token
  const each = number(bits / 8, bits === 8 ? "byte" : "bytes");
  const words = terms.map((term) => layerWords(result, term));
  const sequences = number(sizes.batch, "sequences");
  if (terms.some((term) => factorsIn(term) !== factorsIn(terms[0]))) { // layers of two sizes
    // Where keys and values differ as well, one number stands for both: few enough stay to look at.
    const alike = terms.every((term) => sameFactors(term.fields));
    const both = ({ fields: own }) => [number(own.reduce((all, { numbers }) => all + Number(numbers), 0), "values")];
    const inOne = (term, layers) => (alike ? tokenWords(term.fields, term.heads, layers) : [both(term), layers]);
    const kinds = terms.map((term, i) => join([...inOne(term, [words[i].layers]), [words[i].tokens]], "×"));
    return join([inBrackets(kinds, "+"), [each], [sequences]], "×");
  }
  const alone = terms.length === 1;
  const layers = alone ? [words[0].layers]
    : inBrackets(words.map((word) => [word.layers, sign("×"), word.tokens]), "+");
  const perLayer = tokenWords(fields, terms[0].heads, layers);
  const { once } = terms[0];
  if (once) {
    const own = inBrackets([[words[0].tokens], ...blocks.own], "+");
    const used = [[...own, sign("×"), sequences], [number(once, "shared slots")], ...blocks.once];
    return join([...perLayer, [each], inBrackets(used, "+")], "×");
  }
  const tokens = alone ? [inBrackets([[words[0].tokens], ...blocks.own], "+")] : [];
  return join([...perLayer, [each], ...tokens, [sequences]], "×");
}

const withUnit = ({ value, label }) => {
  const shown = value === 0.5 ? "½" : grouped(value);
  const quiet = ["keys and values", "head size", "value size", ""].includes(label);
  const word = value === 1 && !label.startsWith("of ") ? label.replace(/ies$/, "y").replace(/s$/, "") : label;
  return quiet ? shown : `${shown} ${value === 0.5 ? "byte" : word}`;
};

function formulaText(result) {
  const words = formula(result).map((item) => item.sign ?? withUnit(item)).join(" ");
  return `${words} = ${grouped(result.total_bytes)} bytes`.replaceAll("( ", "(").replaceAll(" )", ")");
}

export const numberText = (value) => (value === 0.5 ? "½" : grouped(value));
export const count = (n, word) => `${grouped(n)} ${word}${Number(n) === 1 ? "" : "s"}`;

function fitWords(result) {
  const { sizes, max_sequences, max_context } = result;
  const many = max_sequences === 0n ? "no sequence" : count(max_sequences, "sequence");
  const fits = max_sequences > 1n ? "fit" : "fits";
  return {
    sequences: `${many} of ${count(sizes.context, "token")} ${fits}`,
    longest: max_context === null ? "any number of tokens" : `up to ${count(max_context, "token")}`,
  };
}

export const deviceWords = ({ sizes, device_name }) => (sizes.ranks === 1 ? `the ${device_name}`
  : sizes.device === OWN ? `each device's ${device_name}` : `each ${device_name}`);

export const weightWords = ({ sizes: { ranks }, weight_bytes }) => `weights${ranks > 1 ? ` ÷ ${ranks}:` : ""} ${size(weight_bytes)}`;

const listed = (words) => [words.slice(0, -1).join(", "), ...words.slice(-1)].filter(Boolean).join(" and ");

const splits = ({ factors }) => factors.some(({ name }) => name === "n_kv_heads");
const layersOf = ({ rule }) => `${rule === "window" ? "windowed" : "global"} layers`;

// What each of several devices keeps, and what no longer shrinks.
export function splitWords({ sizes: { ranks }, terms }) {
  if (ranks === 1) return "";
  const fields = terms.flatMap((term) => term.fields);
  const whole = [...new Set(fields.filter((field) => !splits(field)).map(({ name }) => `${name.replace("rope", "RoPE").replace(/s$/, "")}s`))];
  const kinds = fields.some(splits) ? [...new Map(terms.map((term) => [term.heads, term])).values()] : [];
  const alone = kinds.length === 1;
  const kept = kinds.map((term) => (term.heads === 1 ? "the only KV head" : `${Math.max(1, term.heads / ranks)} of ${term.heads} KV heads`)
    + (alone ? "" : ` in ${layersOf(term)}`));
  const each = `Each of the ${ranks} devices keeps ${listed([...kept, ...(whole.length ? [`all ${listed(whole)}`] : [])])}.`;
  if (kinds.every(({ heads }) => heads === 1)) return `${each} This cache doesn't shrink.`;
  const still = kinds.filter(({ heads }) => heads < ranks).map((term) => {
    const what = alone ? "the cache" : `the cache of ${layersOf(term)}`;
    return term.heads === 1 ? `T${what.slice(1)} doesn't shrink.` : `Beyond ${term.heads} devices, ${what} no longer shrinks: heads are copied.`;
  });
  if (whole.length) still.push(`${whole[0][0].toUpperCase()}${listed(whole).slice(1)} don't shrink.`);
  return [each, ...(still.length ? still : ["Everything is split."])].join(" ");
}

export function verdict(result) {
  const { left_bytes, total_bytes, weight_bytes, device_bytes } = result;
  const device = deviceWords(result);
  if (weight_bytes > device_bytes) {
    return result.sizes.ranks > 1 ? `One share of the weights alone doesn't fit on the ${result.device_name}.`
      : `The weights alone don't fit on ${device}.`;
  }
  const many = result.max_sequences === 0n ? "no such sequence fits"
    : `${count(result.max_sequences, "such sequence")} ${result.max_sequences > 1n ? "fit" : "fits"}`;
  if (total_bytes > left_bytes) {
    return `That's ${size(total_bytes - left_bytes)} more than ${device} has left. With the weights, ${many}.`;
  }
  return `Together they take ${size(total_bytes + weight_bytes)} of ${device}. With the weights, ${many}.`;
}

function comparedWithWeights(result) {
  const weights = `${result.sizes.ranks > 1 ? "its share of " : ""}the weights (${size(result.weight_bytes)})`;
  if (result.total_bytes === result.weight_bytes) return `exactly as much as ${weights}`;
  if (result.total_bytes > result.weight_bytes) return `more than ${weights}`;
  return `${ratio(result.total_bytes, result.weight_bytes)} times ${weights}`;
}

export function saving(result) {
  if (result.mha_bytes <= result.total_bytes) return "";
  const factor = times(result.mha_bytes, result.total_bytes);
  const layers = sharing(result) ? " in every layer" : "";
  const every = result.layout.length_rule === "window" ? " and every token kept" : "";
  const each = result.sizes.ranks > 1 ? " on each device" : "";
  return `${factor}× smaller${each} than with one KV head per query head${layers}${every}`;
}

// Of a model whose other layers keep a cache.
function stateSentence({ terms, sizes, state_bytes }) {
  const states = terms.find(isState);
  if (!states || terms.length === 1) return "";
  return ` ${grouped(states.layers)} of ${count(sizes.n_layers, "layer")} keep a state: ${size(state_bytes)} of it, however long the ${sizes.batch > 1 ? "sequences are" : "sequence is"}.`;
}

export function describe(result) {
  if (result.error) return `These numbers don't go together: ${result.error}`;
  const { sizes, title, total_bytes } = result;
  const several = sizes.ranks > 1;
  const used = `${title}, ${count(sizes.batch, "sequence")} of ${count(sizes.context, "token")}${several ? ` on ${sizes.ranks} devices` : ""}`;
  const takes = `the cache ${several ? "of each " : ""}takes ${size(total_bytes)} in ${sizes.dtype}, ${comparedWithWeights(result)}.`;
  const { n_layers, shared_layers: n } = sizes;
  const kept = sharing(result) ? ` ${count(n, "layer")} of ${grouped(n_layers)} ${n > 1 ? "keep" : "keeps"} nothing and ${n > 1 ? "read" : "reads"} another layer's cache.` : "";
  return [`${used}: ${takes}${kept}${stateSentence(result)}`, splitWords(result), verdict(result)].filter(Boolean).join(" ");
}

const row = (label, bytes) => [label, `${grouped(bytes)} bytes`, size(bytes), binarySize(bytes)];

export function table(result) {
  if (result.error) return { caption: "The cache in numbers", head: ["What", "Problem"], rows: [["Own numbers", result.error]] };
  const { sizes, terms } = result;
  const several = sizes.ranks > 1;
  const rows = [
    row("Cache, one token of one sequence", result.bytes_per_token),
    row(`Cache, ${count(sizes.batch, "sequence")} of ${count(sizes.context, "token")}`, result.total_bytes),
    row(`The same with one KV head per query head${sharing(result) ? " in every layer" : ""}`, result.mha_bytes),
    row(`Weights, ${several ? `1/${sizes.ranks} of ` : ""}${count(sizes.parameters, "parameter")} in ${sizes.weight_dtype}`, result.weight_bytes),
    row(`Memory: ${result.device_name}`, result.device_bytes),
    row("Left for the cache after the weights", result.left_bytes),
  ];
  if (sharing(result)) rows.unshift(["Layers that keep a cache", `${grouped(sizes.n_layers - sizes.shared_layers)} of ${grouped(sizes.n_layers)}`, "the others read one of theirs", ""]);
  if (terms.length > 1 && terms.some(isState)) rows.splice(2, 0, row("Of that, states, which don't grow", result.state_bytes));
  if (several) rows.unshift([`${sizes.ranks} devices`, splitWords(result), "", ""]);
  const { sequences, longest } = fitWords(result);
  return {
    caption: several ? `Numbers of each of ${sizes.ranks} devices` : "The cache in numbers",
    head: ["What", "Exact", "1 GB = 10^9 bytes", "1 GiB = 2^30 bytes"],
    rows: [...rows, ["Fits with the weights", sequences, `${count(sizes.batch, "sequence")}: ${longest} each`, ""], ["Formula", formulaText(result), "", ""]],
  };
}

export const dtypeLabel = (name) => (Number.isInteger(Math.log2(BITS[name]))
  ? `${name}, ${BITS[name] === 4 ? "½" : BITS[name] / 8} B` : `${name.replace("-", ", ")}, ${BITS[name]} bits`);

// "Grouped-query attention" under its common short name: "GQA: grouped-query".
export function variantLabel({ name, title }) {
  const word = title.replace(/ attention$/, "");
  return name.length === 3 ? `${name.toUpperCase()}: ${word.toLowerCase()}` : word;
}
