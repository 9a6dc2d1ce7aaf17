// Every widget under its name.
import attentionExplorer from "./attention_explorer/index.js";
import bitsDial from "./bits_dial/index.js";
import cacheCalculator from "./cache_calculator/index.js";
import costExplorer from "./cost_explorer/index.js";
import decodeStepper from "./decode_stepper/index.js";
import equalBytes from "./equal_bytes/index.js";
import firstLook from "./first_look/index.js";
import flashTiles from "./flash_tiles/index.js";
import headStepper from "./head_stepper/index.js";
import headWiring from "./head_wiring/index.js";
import keyBudget from "./key_budget/index.js";
import latentExplorer from "./latent_explorer/index.js";
import livingPlot from "./living_plot/index.js";
import pagePool from "./page_pool/index.js";
import phaseFilm from "./phase_film/index.js";
import positionEncodings from "./position_encodings/index.js";
import prediction from "./prediction/index.js";
import ringCache from "./ring_cache/index.js";
import roofline from "./roofline/index.js";
import ropeScaling from "./rope_scaling/index.js";
import rotor from "./rotor/index.js";
import softmaxChoice from "./softmax_choice/index.js";
import softmaxSaturation from "./softmax_saturation/index.js";
import tileStepper from "./tile_stepper/index.js";
import variantTable from "./variant_table/index.js";

export default Object.fromEntries(
  [
    attentionExplorer, bitsDial, cacheCalculator, costExplorer, decodeStepper, equalBytes, firstLook,
    flashTiles, headStepper, headWiring, keyBudget, latentExplorer, livingPlot, pagePool, phaseFilm,
    positionEncodings, prediction, ringCache, roofline, ropeScaling, rotor, softmaxChoice,
    softmaxSaturation, tileStepper, variantTable,
  ].map((definition) => [definition.name, definition]),
);
