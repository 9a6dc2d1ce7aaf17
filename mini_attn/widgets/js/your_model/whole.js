// Arithmetic of whole numbers, and pairs of queries and keys.
export const B = BigInt;
export const sum = (values) => values.reduce((all, value) => all + value, 0n);
export const least = (a, b) => (a < b ? a : b);
export const most = (a, b) => (a > b ? a : b);

// Sizes as BigInt by name.
export const big = (model, ...names) => names.map((name) => B(model[name]));

// Pairs of a query and a key that it sees, causally, aligned to the end.
export function visiblePairs(q, kv, window) {
  if (window === null) return q * kv - (q * (q - 1n)) / 2n;
  const short = least(q, most(0n, least(kv, window) - (kv - q)));
  return short * (kv - q + 1n) + (short * (short - 1n)) / 2n + (q - short) * least(window, kv);
}
