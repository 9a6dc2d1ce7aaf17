// Every widget under its name.
import attentionExplorer from "./attention_explorer.js";
import cacheCalculator from "./cache_calculator.js";
import decodeStepper from "./decode_stepper.js";
import headStepper from "./head_stepper.js";
import headWiring from "./head_wiring.js";
import prediction from "./prediction.js";
import rotor from "./rotor.js";
import softmaxChoice from "./softmax_choice.js";
import softmaxSaturation from "./softmax_saturation.js";

export default Object.fromEntries(
  [
    attentionExplorer, cacheCalculator, decodeStepper, headStepper, headWiring, prediction, rotor, softmaxChoice, softmaxSaturation,
  ].map((definition) => [definition.name, definition]),
);
