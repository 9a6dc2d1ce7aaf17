// What the tests and the build need outside a browser.
import keyData from "./data/key_budget.json" with { type: "json" };
import everything from "./everything.js";
import { made } from "./key_budget/index.js";

export const registry = { ...everything, key_budget: made(keyData) }; // a page gives it its data itself
export * from "./attention/example.js";
export * from "./core/hash.js";
export * from "./core/schema.js";
export * from "./core/text.js";
export * as decoders from "./decoder/source.js";
export { preview } from "./home_model/preview.js";
export * as lines from "./inside_model/line.js";
export * as positionTables from "./position_encodings/tables.js";
export * as cells from "./python/output.js";
export * from "./rotor/compute.js";
export * from "./progress/format.js";
export * from "./progress/views.js";
export * as returns from "./returns/days.js";
export * from "./questions/judge.js";
export * from "./questions/reading.js";
export { show } from "./questions/written.js";
export * as yourModel from "./your_model/node.js";
export * as assembler from "./your_machine/assembler.js";
export * as machine from "./your_machine/compare.js";
export * as machineWords from "./your_machine/words.js";
export * as plainRates from "./your_machine/plain.js";
export { openCpu } from "./your_machine/cpu.js";
export { fill } from "./your_machine/random.js";
