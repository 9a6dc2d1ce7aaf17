// The planes of a rotary embedding: how fast each rotates, and where it takes its two numbers.

// Radians per position of each plane, the fastest first.
export const frequencies = (rotaryDim, theta) =>
  Array.from({ length: rotaryDim / 2 }, (_, i) => theta ** ((-2 * i) / rotaryDim));

export function rotate([a, b], angle) {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  return [a * cos - b * sin, a * sin + b * cos];
}
