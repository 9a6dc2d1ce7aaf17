// Every widget under its name.
import attentionExplorer from "./attention_explorer.js";
import cacheCalculator from "./cache_calculator.js";
import decodeStepper from "./decode_stepper.js";
import prediction from "./prediction.js";
import softmaxSaturation from "./softmax_saturation.js";

export default Object.fromEntries(
  [
    attentionExplorer, cacheCalculator, decodeStepper, prediction, softmaxSaturation,
  ].map((definition) => [definition.name, definition]),
);
