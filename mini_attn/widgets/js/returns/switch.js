// Whether answers come back at all: on, until a reader switches it off. It's no progress: an export
// doesn't hold it.
import { keepText, textOf } from "../progress/store.js";

const NAME = "livingReturns";

export const isOn = () => textOf(NAME) !== "off";
export const turn = (on) => keepText(NAME, on ? "on" : "off");
export const switchMarkup = (on) => `<label class="returns-switch"><input type="checkbox" role="switch" data-do="returns"${on ? " checked" : ""}>
  Let answers come back after 1, 3 and 10 days</label>`;
