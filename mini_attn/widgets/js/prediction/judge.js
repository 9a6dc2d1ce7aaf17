// Reads a typed answer and says what it lacks. Numbers and sentences come from the question.
import { readNumber } from "./number.js";
import { unitFactor } from "./units.js";

const LONGEST = 40;
const HELP = "Write digits, for example 1,234, 1.2e3, 3/8, 20% or 1.2 million.";
const whole = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 2 });
const told = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 4 });
const close = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 6 });

// An answer as it is told; prediction.py writes it so too.
export const format = (number) => told.format(number);

// One reading in the question's unit, or the error that it is none.
function reading({ value, rest, plain, digits, half }, unit, signed) {
  const factor = unitFactor(rest, unit);
  if (factor === null) {
    const more = /^bytes?$/i.test(unit) ? ", or use B, kB, MB, GB, KiB, MiB or GiB" : "";
    return { error: `The answer counts ${unit}. Leave the unit out${more}.` };
  }
  if (Number.isNaN(value)) return { error: "That cannot be worked out. Look for a division by zero or a root of less than zero." };
  if (!Number.isFinite(value * factor)) return { error: "That number is too large to be read." };
  if (!signed && value <= 0) return { error: "The answer is above zero." };
  return { value: value * factor, half: half * factor, digits: plain ? digits : 0, literal: plain && factor === 1, bare: plain && !rest };
}

// {value, half, digits, literal, bare, other} or {error}. The value is in the question's unit, and
// `other` is what an ambiguous number may mean too: 1.234 and 1,234 may both be a thousand or a bit
// more than one. `half` is half of the last digit's place; `literal` says that the value was typed as
// it is, `bare` that no unit was.
export function parseAnswer(text, unit, { signed = false } = {}) {
  const typed = String(text).trim();
  if (!typed) return { error: "Type a number first; a guess is welcome." };
  if (typed.length > LONGEST) return { error: "That is too long for a number." };
  const read = readNumber(typed);
  if (read.value === undefined) return { error: read.error ?? `That is not a number that can be read. ${HELP}` };
  const first = reading(read, unit, signed);
  if (first.error) return first;
  // A fraction is a share, also where percent are asked for.
  if (!read.plain && !read.rest && unit === "percent" && read.value < 1) return { ...first, other: { ...first, value: 100 * first.value } };
  const other = read.other && reading(read.other, unit, signed);
  return other && !other.error ? { ...first, other } : first;
}

const near = (value, target, tolerance) => Math.abs(value - target) <= tolerance * Math.abs(target) * (1 + 1e-9);

// A foreseen fraction (59.5 sequences) may be typed with more or fewer decimals.
const isMistake = (question, value) => ({ value: target }) =>
  near(value, target, Number.isInteger(target) ? question.tolerance : 0.005);

// Right within the question's tolerance or, where it has one, when the answer rounds to what was
// typed; unless a foreseen mistake is nearer.
function isRight({ answer, tolerance, mistakes }, { value, half, digits }) {
  if (near(value, answer, tolerance || 1e-12)) return true;
  const off = Math.abs(value - answer);
  return tolerance > 0 && digits >= 2 && off <= half * (1 + 1e-9) && mistakes.every((mistake) => Math.abs(value - mistake.value) > off);
}

const PREFIXED = { bytes: "B", FLOPs: "FLOP" };
const STEPS = [["k", 1e3], ["M", 1e6], ["G", 1e9], ["T", 1e12], ["Ki", 2 ** 10], ["Mi", 2 ** 20], ["Gi", 2 ** 30]];

// A count of bytes or FLOPs without its unit may be one of GB: [prefix, what it then is].
function withPrefix(question, read, fits) {
  const unit = PREFIXED[question.unit];
  if (!unit || !read.bare || read.digits < 2 || read.value < 1 || read.value >= 1024) return null;
  for (const [prefix, size] of unit === "B" ? STEPS : STEPS.slice(0, 4)) {
    const found = fits({ ...read, value: read.value * size, half: read.half * size });
    if (found) return [prefix + unit, found];
  }
  return null;
}

// {verdict: "right" | "mistake" | "wrong" | "unread", value, message}
export function judge(question, text) {
  const read = parseAnswer(text, question.unit, { signed: question.signed });
  if (read.error) return { verdict: "unread", message: read.error };
  const readings = [read, read.other].filter(Boolean);
  const say = (verdict, { value }, message) => ({ verdict, value, message });
  for (const one of readings) {
    if (isRight(question, one)) return say("right", one, question.explanation);
    const mistake = question.mistakes.find(isMistake(question, one.value));
    if (mistake) return say("mistake", one, mistake.message);
  }
  const meant = withPrefix(question, read, (one) => isRight(question, one));
  if (meant && Number.isInteger(read.value)) {
    return { verdict: "unread", message: `If you mean ${read.value} ${meant[0]}, write the unit too. Without one it counts ${question.unit}.` };
  }
  if (meant) return say("right", read, `Taken as ${meant[0]}. ${question.explanation}`);
  const slip = withPrefix(question, read, (one) => question.mistakes.find(isMistake(question, one.value)));
  if (slip) return say("mistake", read, `Taken as ${slip[0]}. ${slip[1].message}`);
  if (read.bare && PREFIXED[question.unit] && Math.abs(read.value) < 1024 && question.answer >= 1e6) {
    return { verdict: "unread", message: `Without a unit that counts ${question.unit}. If you mean thousands or millions of them, write it: ${read.value} M${PREFIXED[question.unit]}.` };
  }
  // Of two readings the one that is nearer to the answer was meant.
  const distance = ({ value }) => Math.abs(Math.log(Math.abs(value / question.answer)));
  const nearest = readings.reduce((best, one) => (distance(one) < distance(best) ? one : best));
  const shown = nearest !== read || !read.literal ? `That is ${close.format(nearest.value)}. ` : "";
  return say("wrong", nearest, shown + generic(question, nearest));
}

// What each kind of question asks one to do again. A factor would say little of what is counted one
// by one, of a share, a place or a shape.
const FACTORLESS = ["count", "share", "place", "shape"];
const AGAIN = {
  product: "Write the product out, factor by factor.",
  quotient: "Write down what is divided by what, and the unit of each.",
  ratio: "Write down both quantities, then divide the one by the other.",
  sum: "Write the sum out, and look at what each step adds.",
  count: "Draw a small case and count in it.",
  share: "What is the whole, and which part of it is asked for?",
  place: "Number the first few, and see where this one falls.",
  shape: "Write down the shape of each array.",
  crossover: "Write down what each side costs for an unknown number, and set them equal.",
  formula: "Write the formula down, then put the numbers in.",
};

function generic({ answer, tolerance, kind, unit }, { value, digits }) {
  if (Math.sign(value) !== Math.sign(answer)) {
    return near(-value, answer, tolerance || 1e-9) ? "The size is right, the sign is not." : `It is ${answer > 0 ? "above" : "below"} zero. ${AGAIN[kind]}`;
  }
  const ratio = value / answer;
  const side = ratio > 1 ? "large" : "small";
  const factor = Math.max(ratio, 1 / ratio);
  if (unit === "percent" && near(100 * value, answer, Math.max(tolerance, 0.005))) return "That is the share of 1; in percent it is a hundred times that.";
  if (factor < 1.05) return `Close, but a little too ${side}.${tolerance ? "" : " It can be found exactly."}`;
  const power = Math.round(Math.log10(factor));
  if (digits >= 3 && power && near(factor, 10 ** power, Math.max(tolerance, 0.005))) {
    return `The digits are right, their size is not: too ${side} by a factor of ${whole.format(10 ** power)}.`;
  }
  if (FACTORLESS.includes(kind)) return `Too ${side}. ${AGAIN[kind]}`;
  if (factor >= 1000) return `Too ${side} by far, more than a thousand times. ${AGAIN[kind]}`;
  const about = factor < 10 ? short.format(factor) : whole.format(factor);
  return `Too ${side}, by a factor of about ${about}. ${AGAIN[kind]}`;
}
