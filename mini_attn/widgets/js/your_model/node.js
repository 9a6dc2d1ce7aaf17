// What the tests compare with Python: reading, costs, and the state in an address.
export { costOf, layerRuns } from "./compute.js";
export { Unreadable, listed, modelFromHf, modelOf, readText } from "./read.js";
export { first, fromHash, toHash } from "./state.js";
export { draw, together } from "./picture.js";
export { describe, markdown, perLayer } from "./words.js";
export { activeParameterCount, parameterCount, stepOperations } from "./step.js";
