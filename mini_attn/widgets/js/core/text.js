// Words and numbers on their way into markup.

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

// Everything that did not come from a literal in our own source goes through here.
export function escape(text) {
  return String(text).replace(/[&<>"']/g, (char) => ESCAPES[char]);
}

// A number with so many decimals, its thousands apart, a true minus sign, and no "-0.00".
export function decimal(value, digits = 2) {
  const text = Math.abs(value).toFixed(digits).replace(/\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ","));
  return value < 0 && /[1-9]/.test(text) ? `−${text}` : text;
}

export const whole = (value) => decimal(value, 0);

// (0.25, −1.00)
export const list = (numbers) => `(${numbers.map((value) => decimal(value)).join(", ")})`;

// The terms of a dot product: 0.25 · 1.00 + 0.50 · −1.00.
export const terms = (a, b) => b.map((value, i) => `${decimal(a[i])} · ${decimal(value)}`).join(" + ");

export const quote = (word) => `“${word}”`;

// A weight where there is little room: 0, .25 or 1.
export function shortWeight(weight) {
  if (weight < 0.005) return "0";
  return weight > 0.995 ? "1" : decimal(weight).slice(1);
}

// 1 row, 2 rows.
export function count(n, noun, plural = `${noun}s`) {
  return `${whole(n)} ${n === 1 ? noun : plural}`;
}
