// A weighted sum as a pile: what each value brings, [[base, size] per entry] for each of them.
export function piles(weights, values) {
  const [ups, downs] = [[], []];
  return weights.map((weight, j) => values[j].map((value, n) => {
    const pile = value > 0 ? ups : downs;
    const base = pile[n] ?? 0;
    pile[n] = base + weight * value;
    return [base, weight * value];
  }));
}
