// Every widget under its name.
import decodeStepper from "./decode_stepper.js";

export default Object.fromEntries([decodeStepper].map((definition) => [definition.name, definition]));
