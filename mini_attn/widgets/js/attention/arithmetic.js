// Products, sums and softmax over plain arrays, in float64: rows are arrays, matrices arrays of rows.

export const sum = (row) => row.reduce((total, value) => total + value, 0);
export const dot = (a, b) => a.reduce((total, value, i) => total + value * b[i], 0);
// A row times a matrix; with weights for the row, the weighted sum of the matrix's rows.
export const rowTimes = (row, matrix) => matrix[0].map((_, column) => row.reduce((total, x, i) => total + x * matrix[i][column], 0));

// The largest size of any number in rows of rows.
export const largest = (rows) => Math.max(...rows.flat(Infinity).map(Math.abs));

export function softmax(scores) {
  const top = Math.max(...scores);
  const parts = scores.map((score) => Math.exp(score - top));
  const total = sum(parts);
  return parts.map((part) => part / total);
}
