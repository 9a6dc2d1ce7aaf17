// What stands behind a number: a word for its size, the unit, its plural or its abbreviation.
const SIZES = {
  hundred: 1e2, thousand: 1e3, k: 1e3, million: 1e6, mio: 1e6, mn: 1e6, m: 1e6,
  billion: 1e9, bn: 1e9, g: 1e9, b: 1e9, trillion: 1e12, t: 1e12,
};
const PREFIXES = { "": 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12, p: 1e15, ki: 2 ** 10, mi: 2 ** 20, gi: 2 ** 30, ti: 2 ** 40 };
// Units that can be told in one another, in a common one.
const SAME = { bit: ["byte", 1 / 8], second: ["second", 1], millisecond: ["second", 1e-3], microsecond: ["second", 1e-6], percent: ["whole", 0.01] };
const SHORT = {
  s: "second", sec: "second", ms: "millisecond", us: "microsecond", µs: "microsecond", μs: "microsecond",
  tok: "token", pct: "percent", "%": "percent", "°": "degree", deg: "degree", rad: "radian", seq: "sequence",
  x: "time", "×": "time", fold: "time", param: "parameter", seqs: "sequence",
};
const FILLERS = new Set(["a", "an", "per", "as", "many", "much", "more", "fewer", "less", "larger", "smaller", "in", "all", "total", "of", "the", "each", "so", "or"]);

function singular(word) {
  if (Object.hasOwn(SHORT, word)) return SHORT[word];
  return word.length > 3 ? word.replace(/sses$/, "ss").replace(/([^s])s$/, "$1") : word;
}

// The words of a unit: "FLOPs/byte" and "FLOP per byte" are both flop, byte.
const wordsOf = (text) => text.toLowerCase().replace(/per ?cent/g, "percent").replace(/([%°×])/g, " $1 ")
  .split(/[\s/()·-]+/).filter(Boolean).map((word) => singular(word.replace(/\.$/, "")));

// What one of this is of `base`: a kB is 1000 of "byte", a GFLOP 1e9 of "flop".
function prefixed(word, base) {
  const [short, long] = base === "byte" ? ["b", "byte"] : ["flop", "flop"];
  const found = new RegExp(`^([kmgtp]i?|kilo|mega|giga|tera|)(?:${short}|${long})$`).exec(word);
  if (!found) return null;
  const prefix = found[1].length > 2 ? found[1][0] : found[1];
  return Object.hasOwn(PREFIXES, prefix) ? PREFIXES[prefix] : null;
}

// [what it measures, how much of that]; a word that nothing converts measures itself.
function measure(word, base) {
  const many = base && prefixed(word, base);
  if (many) return [base, many];
  return Object.hasOwn(SAME, word) ? SAME[word] : [word, 1];
}

// The factor from what was typed to the question's unit, or null where they do not fit.
export function unitFactor(rest, unit) {
  const asked = wordsOf(unit).filter((word) => !FILLERS.has(word));
  const base = ["byte", "flop"].find((name) => asked.length && prefixed(asked[0], name)) ?? null;
  const single = asked.length === 1 || base === "flop";
  const typed = wordsOf(rest);
  let factor = 1;
  while (typed.length && Object.hasOwn(SIZES, typed[0]) && !(base === "byte" && typed[0] === "b")) factor *= SIZES[typed.shift()];
  for (const word of typed) {
    if (FILLERS.has(word) || asked.includes(word) || (word === "b" && asked.includes("byte") && base !== "byte")) continue;
    const [kind, many] = measure(word, base);
    const [wanted, each] = single || kind !== word ? measure(asked[0] ?? "", base) : [];
    if (word === "percent" && (asked.includes("time") || asked.includes("part"))) factor *= 0.01;
    else if (kind !== wanted) return null;
    else factor *= many / each;
  }
  return factor;
}
