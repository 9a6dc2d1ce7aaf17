// Stands in for d3-interpolate: our scales have numbers alone, and colours, dates and texts would be
// 4 kB of the packed bundle. `piecewise` is asked for by scales that we do not use.
export const interpolateNumber = (a, b) => (t) => a * (1 - t) + b * t;
export const interpolateRound = (a, b) => (t) => Math.round(a * (1 - t) + b * t);
export { interpolateNumber as interpolate, interpolateNumber as piecewise };
