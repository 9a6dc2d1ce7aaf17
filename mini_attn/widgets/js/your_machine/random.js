// Numbers that Python, JavaScript and the shaders draw alike: the i-th of a stream follows from i
// alone, so that threads can draw them in any order. All are multiples of 2^-23 from -1 up to 1.
export function fill(target, seed, from = 0, wide = 1) {
  const start = Math.imul(seed, 0x85ebca6b);
  for (let i = 0; i < target.length; i += 1) {
    let x = (Math.imul(i + from, 0x9e3779b1) + start) | 0;
    x = Math.imul(x ^ (x >>> 16), 0x21f0aaad);
    x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
    target[i] = wide * (((x ^ (x >>> 15)) >>> 8) / 8388608 - 1);
  }
  return target;
}
