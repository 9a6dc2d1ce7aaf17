// What stands around attention, on rows of numbers that lie after each other in one array. Weights
// are float32, all that is computed is float64.

// y = x @ weight.T + bias; x (rows, in), weight (out, in), y (rows, out). Two rows by four outputs at
// a time: eight sums that do not wait for each other, of six numbers read.
export function linear(x, { weight, bias }, rows) {
  const from = x.length / rows;
  const out = weight.length / from;
  const y = new Float64Array(rows * out);
  for (let row = 0; row < rows; row += 2) {
    const upper = row * from, lower = row + 1 < rows ? upper + from : upper; // an odd last row twice
    const above = row * out, below = (lower / from) * out;
    let o = 0;
    for (; o + 4 <= out; o += 4) {
      const first = o * from, second = first + from, third = second + from, fourth = third + from;
      let a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
      for (let i = 0; i < from; i++) {
        const u = x[upper + i], v = x[lower + i];
        const k = weight[first + i], l = weight[second + i], m = weight[third + i], n = weight[fourth + i];
        a += u * k; b += u * l; c += u * m; d += u * n;
        e += v * k; f += v * l; g += v * m; h += v * n;
      }
      y[above + o] = a; y[above + o + 1] = b; y[above + o + 2] = c; y[above + o + 3] = d;
      y[below + o] = e; y[below + o + 1] = f; y[below + o + 2] = g; y[below + o + 3] = h;
    }
    for (; o < out; o++) {
      let a = 0, e = 0;
      for (let i = 0; i < from; i++) {
        a += x[upper + i] * weight[o * from + i];
        e += x[lower + i] * weight[o * from + i];
      }
      y[above + o] = a;
      y[below + o] = e;
    }
  }
  if (bias) for (let i = 0; i < y.length; i++) y[i] += bias[i % out];
  return y;
}

// y = weight * x / sqrt(mean(x²) + eps) for the first numbers of each row, as many as there are
// weights; what a wider row holds behind them stays as it is.
export function rmsNorm(x, weight, eps, width = weight.length) {
  const y = x.slice();
  const size = weight.length;
  for (let start = 0; start < x.length; start += width) {
    let squares = 0;
    for (let i = 0; i < size; i++) squares += x[start + i] * x[start + i];
    const root = Math.sqrt(squares / size + eps);
    for (let i = 0; i < size; i++) y[start + i] = (x[start + i] / root) * weight[i];
  }
  return y;
}

// y = weight * (x - mean(x)) / sqrt(var(x) + eps) + bias for each row.
export function layerNorm(x, { weight, bias }, eps) {
  const size = weight.length;
  const centred = x.slice();
  for (let start = 0; start < x.length; start += size) {
    let total = 0;
    for (let i = 0; i < size; i++) total += x[start + i];
    for (let i = 0; i < size; i++) centred[start + i] -= total / size;
  }
  const y = rmsNorm(centred, weight, eps); // of what has mean 0, the mean square is the variance
  for (let i = 0; i < y.length; i++) y[i] += bias[i % size];
  return y;
}

// 2 / sqrt(pi) times the integral of exp(-t²) from 0 to x, by a series whose terms have one sign.
function erf(x) {
  if (Math.abs(x) > 6) return Math.sign(x);
  let term = x;
  let total = x;
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(total); n++) {
    term *= (2 * x * x) / (2 * n + 1);
    total += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * total;
}

const ROOT = Math.sqrt(2 / Math.PI);
const ACTIVATIONS = {
  gelu_tanh: (x) => x / (1 + Math.exp(-2 * ROOT * (x + 0.044715 * x * x * x))), // (1 + tanh(u)) / 2 = 1 / (1 + exp(-2u))
  gelu: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
  silu: (x) => x / (1 + Math.exp(-x)),
  relu: (x) => Math.max(x, 0),
};

// down(activate(up(x))), or with a gate down(activate(gate(x)) * up(x)); each row by itself.
export function mlp(x, { gate_proj: gate, up_proj: up, down_proj: down }, activation, rows) {
  const activate = ACTIVATIONS[activation];
  const inner = linear(x, up, rows); // (rows, d_ff)
  if (gate) {
    const opened = linear(x, gate, rows); // (rows, d_ff)
    for (let i = 0; i < inner.length; i++) inner[i] *= activate(opened[i]);
  } else for (let i = 0; i < inner.length; i++) inner[i] = activate(inner[i]);
  return linear(inner, down, rows); // (rows, d_model)
}

export const add = (a, b) => a.map((value, i) => value + b[i]);
