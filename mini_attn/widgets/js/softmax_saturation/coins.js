// Tossed coins, the same in every browser and in Python: entries +1 or −1 of a query and its keys.

// Tommy Ettinger's mulberry32: 32 bits from a counter that is stirred twice.
export function bits(seed) {
  let at = seed >>> 0;
  return () => {
    at = (at + 0x6d2b79f5) >>> 0;
    let x = Math.imul(at ^ (at >>> 15), at | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return (x ^ (x >>> 14)) >>> 0;
  };
}

// q · k of one query with several keys after each further dimension: result[d - 1][key]. A product
// of two fair coins is a fair coin, so every dot product is a walk of steps +1 and −1.
export function walks(seed, keys, dimensions) {
  const next = bits(seed);
  let sums = Array(keys).fill(0);
  return Array.from({ length: dimensions }, () => {
    const word = next();
    sums = sums.map((value, key) => value + ((word >>> key) & 1 ? 1 : -1));
    return sums;
  });
}
