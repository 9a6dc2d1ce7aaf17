// What the tests compare with Python: reading, costs, and the state in an address.
export { costOf, layerRuns } from "./compute.js";
export { Unreadable, listed, modelFromHf, modelOf, readText } from "./read.js";
export { activeParameterCount, parameterCount, stepOperations } from "./step.js";
