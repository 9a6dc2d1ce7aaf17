// Stands in for d3-format: our axes write their own ticks, so that the scales' `tickFormat`, which
// asks for these, is never called, and the whole of it would be 2 kB of each packed bundle.
const none = () => String;
export { none as format, none as formatPrefix, none as formatSpecifier, none as precisionFixed, none as precisionPrefix, none as precisionRound };
