// Gives each answered prediction the day from which it comes back, and takes it from one whose
// answer was taken back. The pages themselves know nothing of it.
import { forget, keep } from "../progress/store.js";
import { begun, today } from "./days.js";
import { isOn } from "./switch.js";

export function dateAnswers(record) {
  if (!isOn()) return;
  for (const [page, { predictions, returns = {} }] of Object.entries(record)) {
    for (const name of Object.keys(predictions)) if (!returns[name]) keep("returns", `${page}/${name}`, begun(today()));
    for (const name of Object.keys(returns)) if (!predictions[name]) forget("returns", `${page}/${name}`);
  }
}
