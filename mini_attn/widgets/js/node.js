// What the tests and the build need outside a browser.
export { default as registry } from "./registry.js";
export * from "./attention_example.js";
export * from "./core/hash.js";
export * from "./core/schema.js";
export * from "./core/text.js";
export * as positionTables from "./position_tables.js";
export * from "./prediction_judge.js";
export * from "./rotor.js";
export * from "./progress_format.js";
export * from "./progress_views.js";
