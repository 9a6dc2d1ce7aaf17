// Runs beside the browser notebook: it opens at the exercise that one came from, and what is
// solved there and on the page is known in both.
import { arrive } from "./arrive.js";
import { keepTogether } from "./sync.js";

function start(app) {
  arrive(app);
  app.started.then(() => keepTogether(app.serviceManager.contents));
}

// The application shows itself under this name once it is made.
const waiting = setInterval(() => {
  if (!globalThis.jupyterapp) return;
  clearInterval(waiting);
  start(globalThis.jupyterapp);
}, 50);
