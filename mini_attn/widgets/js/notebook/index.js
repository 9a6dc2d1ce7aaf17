// Runs beside the browser notebook: it opens at the exercise that one came from, and what is
// solved there and on the page is known in both, and what was written on the page stands there too.
import { bringAnswers } from "./answers.js";
import { arrive } from "./arrive.js";
import { keepTogether } from "./sync.js";

function start(app) {
  arrive(app);
  app.started.then(() => keepTogether(app.serviceManager.contents));
  app.started.then(() => bringAnswers(app));
}

// The application shows itself under this name once it is made.
const waiting = setInterval(() => {
  if (!globalThis.jupyterapp) return;
  clearInterval(waiting);
  start(globalThis.jupyterapp);
}, 50);
