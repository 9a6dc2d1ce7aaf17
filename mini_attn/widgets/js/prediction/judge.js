// Reads a typed answer and says what it lacks. Numbers and sentences come from the question.
const POWERS = {
  B: 1, byte: 1, bytes: 1,
  kB: 1e3, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12,
  KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40,
};
const LONGEST = 40;
const plain = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 2 });
const short = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 2 });

// {value} or {error}. Accepts 5050, 5,050, 5 050, 5_050, 5.05e3 and, for bytes, "7.37 MB".
export function parseAnswer(text, unit) {
  const typed = String(text).trim();
  if (!typed) return { error: "Type a number first; a guess is welcome." };
  if (typed.length > LONGEST) return { error: "That is too long for a number." };
  const parts = /^([+-]?[\d.,_' \u00a0\u2009\u202f]*\d\.?(?:[eE][+-]?\d+)?)\s*([A-Za-z ]*)$/.exec(typed);
  if (!parts) {
    return { error: "That is not a number that can be read. Write digits, for example 1,234 or 1.2e3." };
  }
  const [, digits, word] = parts;
  const grouped = /^[+-]?\d{1,3}([,_' \u00a0\u2009\u202f]\d{3})+(\.\d+)?$/.test(digits);
  const bare = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(digits);
  if (!grouped && !bare) {
    return { error: "Write a point for decimals and commas for thousands only: 7.37 or 1,234,567." };
  }
  const power = unitPower(word.trim(), unit);
  if (power === null) {
    return { error: `The answer counts ${unit}. Leave the unit out${unit === "bytes" ? ", or use B, kB, MB, GB, KiB, MiB or GiB" : ""}.` };
  }
  const value = Number(digits.replace(/[,_' \u00a0\u2009\u202f]/g, "")) * power;
  if (!Number.isFinite(value)) return { error: "That number is too large to be read." };
  if (value <= 0) return { error: "The answer is above zero." };
  return { value };
}

function unitPower(word, unit) {
  if (!word || word.toLowerCase() === unit.toLowerCase()) return 1;
  if (unit === "bytes") return Object.hasOwn(POWERS, word) ? POWERS[word] : null;
  const last = unit.split(" ").pop();
  return [last, last.replace(/e?s$/, ""), last.replace(/s$/, "")].includes(word.toLowerCase()) ? 1 : null;
}

const near = (value, target, tolerance) => Math.abs(value - target) <= tolerance * target;

// {verdict: "right" | "mistake" | "wrong" | "unread", message}
export function judge(question, text) {
  const { value, error } = parseAnswer(text, question.unit);
  if (error) return { verdict: "unread", message: error };
  if (near(value, question.answer, question.tolerance)) {
    return { verdict: "right", value, message: question.explanation };
  }
  for (const mistake of question.mistakes) {
    // A foreseen fraction (59.5 sequences) may be typed with more or fewer decimals.
    const tolerance = Number.isInteger(mistake.value) ? question.tolerance : 0.005;
    if (near(value, mistake.value, tolerance)) {
      return { verdict: "mistake", value, message: mistake.message };
    }
  }
  return { verdict: "wrong", value, message: generic(question, value) };
}

function generic(question, value) {
  const ratio = value / question.answer;
  const factor = Math.max(ratio, 1 / ratio);
  const side = ratio > 1 ? "large" : "small";
  if (factor < 1.05) {
    const how = question.tolerance ? "" : " The count can be made exactly.";
    return `Close, but a little too ${side}.${how}`;
  }
  if (factor < 1000) {
    const about = factor < 10 ? short.format(factor) : plain.format(Math.round(factor));
    return `Too ${side}, by a factor of about ${about}. Write the product out, factor by factor.`;
  }
  return `Too ${side} by far, more than a thousand times. Which factors did you multiply?`;
}

// An answer as it is told; prediction.py writes it so too.
const told = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 4 });
export const format = (number) => told.format(number);
