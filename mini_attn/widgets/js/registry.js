// Every widget under its name.
import cacheCalculator from "./cache_calculator.js";
import decodeStepper from "./decode_stepper.js";
import prediction from "./prediction.js";

export default Object.fromEntries(
  [cacheCalculator, decodeStepper, prediction].map((definition) => [definition.name, definition]),
);
