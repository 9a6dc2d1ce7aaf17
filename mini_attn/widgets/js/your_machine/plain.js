// The two rates in plain JavaScript, one number at a time: what WebAssembly's vectors are faster
// than, and where every number has room in both formats, what they must give.

export function read(numbers) {
  let a = 0.5, b = 0.5, c = 0.5, d = 0.5; // a fraction from the start, so that no sum begins as an integer
  for (let at = 0; at < numbers.length; at += 4) {
    a += numbers[at];
    b += numbers[at + 1];
    c += numbers[at + 2];
    d += numbers[at + 3];
  }
  return a + b + (c + d) - 2;
}

export const CHAINS = 12; // as many as there are registers for; none waits for another

export function multiplyAdd(rounds, start) {
  const [by, plus] = [0.75, 0.25];
  let a = start, b = start + 1, c = start + 2, d = start + 3, e = start + 4, f = start + 5;
  let g = start + 6, h = start + 7, i = start + 8, j = start + 9, k = start + 10, l = start + 11;
  for (let round = 0; round < rounds; round += 1) {
    a = a * by + plus; b = b * by + plus; c = c * by + plus; d = d * by + plus;
    e = e * by + plus; f = f * by + plus; g = g * by + plus; h = h * by + plus;
    i = i * by + plus; j = j * by + plus; k = k * by + plus; l = l * by + plus;
  }
  return a + b + c + d + e + f + (g + h + i + j + k + l);
}
