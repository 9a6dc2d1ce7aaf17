// Words and numbers on their way into markup.
import { format } from "d3-format";

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

// Everything that did not come from a literal in our own source goes through here.
export function escape(text) {
  return String(text).replace(/[&<>"']/g, (char) => ESCAPES[char]);
}

export const whole = format(",d");
const fixed = { 1: format(",.1f"), 2: format(",.2f"), 3: format(",.3f") };

// A number with so many decimals, a true minus sign, and no "-0.00".
export function decimal(value, digits = 2) {
  const text = fixed[digits](value);
  return (/[1-9]/.test(text) ? text : text.replace("−", "")).replace("-", "−");
}

// 1 row, 2 rows.
export function count(n, noun, plural = `${noun}s`) {
  return `${whole(n)} ${n === 1 ? noun : plural}`;
}
