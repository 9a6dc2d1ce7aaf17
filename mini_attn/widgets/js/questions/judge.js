// Says what an answer lacks. All that it knows is the question, as mini_attn/questions/number.py
// writes it for a page; mini_attn/questions/judge.py says the same to the same number.
import { parseAnswer } from "./reading.js";
import { show } from "./written.js";

const whole = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
const told = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 4 });
const close = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 6 });
const TYPED = 0.005; // how near a share of 1 is typed where percent are asked for

// An answer as it is told; prediction.py writes it so too.
export const format = (number) => told.format(number);

const meant = (value) => (known) => Math.abs(value - known.value) <= known.off;
const factorOf = (value, answer) => (value > 0 ? Math.max(value / answer, answer / value) : Infinity);

function covers({ low = -Infinity, high = Infinity, fractional = false }, value) {
  return low <= value && value <= high && !(fractional && Number.isInteger(value));
}

const LEADS = {
  over: (value, { by }) => value / by,
  steps: (value, { by, start }) => Math.floor((value - start) / by) + 1,
  weight: (value, { by }) => 1 / (1 + by * Math.exp(-Math.max(-700, Math.min(value, 700)))),
};

// A remark with its numbers.
function filled({ message }, { answer, leads_to: leads }, value) {
  const [factor, above] = [factorOf(value, answer), value > answer];
  const many = above ? "many" : "few";
  const fields = {
    value, factor, many, ratio: value / answer, large: above ? "large" : "small",
    leads_to: leads && LEADS[leads.kind](value, leads),
    times_too_many: `${factor >= 1.5 ? `${show(factor, ",.1f")} times` : "a little"} too ${many}`,
  };
  return message.replace(/\{(\w+):?([^}]*)\}/g, (_, name, spec) => show(fields[name], spec));
}

// What can be said where nothing is known of a number but how far off it is.
function generic({ answer, off, tolerance, unit, again, by_factor: byFactor }, value, digits) {
  if (value <= 0) return Math.abs(value + answer) <= off ? "The size is right, the sign is not." : `It is above zero. ${again}`;
  const [side, factor] = [value > answer ? "large" : "small", factorOf(value, answer)];
  if (unit === "percent" && Math.abs(100 * value - answer) <= Math.max(off, TYPED * answer)) {
    return "That is the share of 1; in percent it is a hundred times that.";
  }
  if (factor < 1.05) return `Close, but a little too ${side}.${tolerance ? "" : " It can be found exactly."}`;
  const power = 10 ** Math.round(Math.log10(factor));
  if (digits >= 3 && power > 1 && Math.abs(factor - power) <= Math.max(tolerance, TYPED) * power) {
    return `The digits are right, their size is not: too ${side} by a factor of ${whole.format(power)}.`;
  }
  if (!byFactor) return `Too ${side}. ${again}`;
  if (factor >= 1000) return `Too ${side} by far, more than a thousand times. ${again}`;
  const about = factor < 10 ? Math.floor(10 * factor + 0.5) / 10 : Math.floor(factor + 0.5);
  return `Too ${side}, by a factor of about ${about}. ${again}`;
}

// {verdict: "right" | "mistake" | "wrong", message} of a number. One that was typed has so many
// digits, and `half` is half of the last one's place: a guess is right, too, when the answer rounds
// to it, unless a foreseen mistake is nearer.
export function judgeNumber(question, value, { digits = 0, half = 0 } = {}) {
  const { answer, off, tolerance, explanation, lenient, mistakes } = question;
  const away = Math.abs(value - answer);
  const rounds = lenient && tolerance > 0 && digits >= 2 && away <= half * (1 + 1e-9);
  if (away <= off || (rounds && mistakes.every((mistake) => Math.abs(value - mistake.value) > away))) {
    return { verdict: "right", message: explanation };
  }
  const mistake = mistakes.find(meant(value));
  if (mistake) return { verdict: "mistake", message: mistake.message };
  const remark = question.otherwise.find((one) => covers(one, value));
  return { verdict: "wrong", message: remark ? filled(remark, question, value) : generic(question, value, digits) };
}

const PREFIXED = { bytes: "B", FLOPs: "FLOP" };
const STEPS = [["k", 1e3], ["M", 1e6], ["G", 1e9], ["T", 1e12], ["Ki", 2 ** 10], ["Mi", 2 ** 20], ["Gi", 2 ** 30]];

// What was guessed without its unit may count GB, or ask for it: null where it does neither.
function withPrefix(question, read) {
  const unit = question.lenient && read.bare && PREFIXED[question.unit];
  if (!unit) return null;
  const steps = read.digits < 2 || read.value < 1 || read.value >= 1024 ? [] : unit === "B" ? STEPS : STEPS.slice(0, 4);
  const judged = steps.map(([prefix, size]) => [prefix + unit, judgeNumber(question, read.value * size, { digits: read.digits, half: read.half * size })]);
  const [name, found] = ["right", "mistake"].map((verdict) => judged.find(([, one]) => one.verdict === verdict)).find(Boolean) ?? [];
  if (found?.verdict === "right" && Number.isInteger(read.value)) {
    return { verdict: "unread", message: `If you mean ${read.value} ${name}, write the unit too. Without one it counts ${question.unit}.` };
  }
  if (found) return { verdict: found.verdict, value: read.value, message: `Taken as ${name}. ${found.message}` };
  if (Math.abs(read.value) >= 1024 || question.answer < 1e6) return null;
  return { verdict: "unread", message: `Without a unit that counts ${question.unit}. If you mean thousands or millions of them, write it: ${read.value} M${unit}.` };
}

// {verdict: "right" | "mistake" | "wrong" | "unread", value, message} of a text.
export function judge(question, text) {
  const read = parseAnswer(text, question.unit, question);
  if (read.error) return { verdict: "unread", message: read.error };
  const judged = [read, read.other].filter(Boolean).map((one) => ({ ...judgeNumber(question, one.value, one), value: one.value }));
  const known = ["right", "mistake"].map((verdict) => judged.find((one) => one.verdict === verdict)).find(Boolean);
  if (known) return known;
  const taken = withPrefix(question, read);
  if (taken) return taken;
  // Of two readings the one that is nearer to the answer was meant.
  const distance = ({ value }) => Math.abs(Math.log(Math.abs(value / question.answer)));
  const nearest = judged.reduce((best, one) => (distance(one) < distance(best) ? one : best));
  const isAsTyped = nearest === judged[0] && read.literal;
  if (isAsTyped || question.otherwise.length) return nearest;
  return { ...nearest, message: `That is ${close.format(nearest.value)}. ${nearest.message}` };
}
