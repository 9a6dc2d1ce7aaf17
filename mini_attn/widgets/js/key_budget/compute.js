// Which keys a head still reads under a policy and a budget, as in caching/evicting.py.

const RULES = ["recent", "first", "heavy", "observed"];
const FIRST = 4;
const OBSERVE = 16;
const ZERO = 40; // the character of the largest weight
const KERNEL = 5; // neighbouring keys whose weights are pooled

// A head's weights over the keys in these places, a character each: made to add up to one.
function share(codes, places, scale) {
  const raw = places.map((place) => Math.exp((ZERO - codes.charCodeAt(place)) / scale));
  const sum = raw.reduce((a, b) => a + b, 0);
  return raw.map((one) => one / sum);
}

// The slots that stay: those that are safe, then the largest scores, of equal ones the earlier.
function stays(scores, places, { budget, recent = 0, first = 0 }) {
  const worth = scores.map((score, i) => (i >= places.length - recent || places[i] < first ? Infinity : score));
  const order = [...worth.keys()].sort((a, b) => (worth[a] === worth[b] ? a - b : worth[b] - worth[a]));
  return order.slice(0, budget).sort((a, b) => a - b);
}

const pooled = (looks) => looks.map((_, i) => Math.max(...looks.slice(Math.max(0, i - (KERNEL >> 1)), i + (KERNEL >> 1) + 1)));

// The words that a reader wants to keep, in the order in which they were chosen: too many, and the
// first have to go.
export const chosen = ({ kept, budget }, newest) =>
  [...new Set(kept.split(".").filter((one) => /^\d+$/.test(one)).map(Number))].filter((one) => one < newest).slice(-budget);

// The keys that the newest of so many words reads; what earlier ones read decides which are left.
export function reads(lines, { policy, budget, step, kept }, { prompt, scale }) {
  if (policy === "yours") return [...chosen({ kept, budget }, step - 1).sort((a, b) => a - b), step - 1];
  let [places, totals] = [[], []];
  const observe = Math.min(OBSERVE, budget >> 1);
  for (let word = 0; word < step; word++) {
    places = [...places, word];
    totals = [...totals, 0];
    if (word === step - 1 || policy === "all") continue;
    if (policy === "heavy" || (policy === "observed" && word >= prompt - observe && word < prompt)) {
      const weights = share(lines[word], places, scale);
      totals = totals.map((total, i) => total + weights[i]);
    }
    if (policy === "observed" && word !== prompt - 1) continue; // it forgets once
    if (places.length <= budget) continue;
    const before = prompt - observe;
    const slots = policy === "heavy" ? stays(totals, places, { budget, recent: budget >> 1 })
      : policy === "observed" ? stays([...pooled(totals.slice(0, before)), ...totals.slice(before)], places, { budget, recent: observe })
        : stays(places, places, { budget, first: policy === "first" ? FIRST : 0 });
    [places, totals] = [slots.map((slot) => places[slot]), slots.map((slot) => totals[slot])];
  }
  return places;
}

// What a head gives to each word with all keys and with those that are left.
function headOf([, , lines], state, data) {
  const newest = state.step - 1;
  const all = Array.from({ length: state.step }, (_, i) => i);
  const full = share(lines[newest], all, data.scale);
  const places = reads(lines, state, data);
  const weights = share(lines[newest], places, data.scale);
  const held = new Map(places.map((place, i) => [place, weights[i]]));
  const lost = full.reduce((sum, weight, i) => sum + (held.has(i) ? 0 : weight), 0);
  return { full, held, places, lost };
}

// What was measured with this policy and budget, and with the whole cache read in the same way.
function measuredOf({ measured }, { policy, budget }) {
  const reading = policy === "observed" ? "prompt" : "stream";
  const find = (name, size) => measured[reading][name]?.[size] ?? null;
  const all = find("all", 0);
  return { all, now: policy === "all" ? all : find(policy, budget), most: measured.most };
}

export function compute(data, state) {
  const { words } = data;
  const newest = state.step - 1;
  const heads = data.heads.map((head) => headOf(head, state, data));
  const { full, held, places } = heads[state.head - 1];
  const rows = words.slice(0, -1).map((word, i) => ({
    word, position: i, full: full[i] ?? null, weight: held.get(i) ?? 0,
    kind: i > newest ? "later" : i === newest ? "new" : held.has(i) ? "held" : "gone",
  }));
  // A reader's choice is compared with the rules: SnapKV has none before the prompt is read.
  const rules = state.policy === "yours" ? RULES.filter((rule) => rule !== "observed" || state.step > data.prompt) : [];
  const others = rules.map((policy) => [policy, data.heads.map((head) => headOf(head, { ...state, policy }, data).lost)]);
  const done = state.step === rows.length;
  return {
    ...state, rows, newest, places, heads, others, prompt: data.prompt, answer: words.at(-1), observe: Math.min(OBSERVE, state.budget >> 1),
    gone: state.step - places.length, done, said: done ? data.said[state.policy]?.[state.policy === "all" ? 0 : state.budget] ?? null : null, ...measuredOf(data, state),
  };
}
