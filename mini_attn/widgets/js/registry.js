// Every widget under its name.
import attentionExplorer from "./attention_explorer.js";
import cacheCalculator from "./cache_calculator.js";
import costExplorer from "./cost_explorer.js";
import decodeStepper from "./decode_stepper.js";
import headStepper from "./head_stepper.js";
import headWiring from "./head_wiring.js";
import latentExplorer from "./latent_explorer.js";
import positionEncodings from "./position_encodings.js";
import prediction from "./prediction.js";
import ringCache from "./ring_cache.js";
import roofline from "./roofline.js";
import ropeScaling from "./rope_scaling.js";
import rotor from "./rotor.js";
import softmaxChoice from "./softmax_choice.js";
import softmaxSaturation from "./softmax_saturation.js";
import tileStepper from "./tile_stepper.js";
import variantTable from "./variant_table.js";

export default Object.fromEntries(
  [
    attentionExplorer, cacheCalculator, costExplorer, decodeStepper, headStepper, headWiring, latentExplorer, positionEncodings, prediction, ringCache, roofline, ropeScaling, rotor, softmaxChoice, softmaxSaturation, tileStepper, variantTable,
  ].map((definition) => [definition.name, definition]),
);
