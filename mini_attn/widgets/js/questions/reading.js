// Reads a typed answer, in the unit that its question asks for.
import { readNumber } from "./number.js";
import { unitFactor } from "./units.js";

const LONGEST = 40;
const HELP = "Write digits, for example 1,234, 1.2e3, 3/8, 20% or 1.2 million.";

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
