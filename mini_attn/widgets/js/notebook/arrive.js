// A link from an exercise of a page opens the notebook there: …?path=kv-cache.ipynb#exercise=id.
const PATIENCE = 60_000; // milliseconds; a first visit loads the whole application
const LOOKS = 50; // at the place, as cells above it grow while they are drawn
const HANDS = ["wheel", "pointerdown", "touchmove", "keydown"];

const pause = () => new Promise((done) => setTimeout(done, 100));
let asked = null; // the exercise of the newest link

const wanted = () => /^#exercise=([a-z0-9_]+)$/.exec(location.hash)?.[1] ?? null;

// The notebook with this exercise, once it is open, and where the exercise is in it.
function found(app, id) {
  for (const panel of app.shell.widgets("main")) {
    const cells = panel.content?.widgets ?? [];
    const starter = cells.findIndex((cell) => cell.model?.getMetadata?.("exercise")?.id === id);
    if (starter >= 0) return { panel, starter, task: cells[starter - 1]?.model.type === "markdown" ? starter - 1 : starter };
  }
  return null;
}

// Whether this cell is the active one and its top is seen.
function inView({ activeCellIndex, node, widgets }, at) {
  const [cell, frame] = [widgets[at].node, node].map((one) => one.getBoundingClientRect());
  return activeCellIndex === at && cell.top >= frame.top && cell.top < frame.bottom;
}

async function go(app, id) {
  const end = performance.now() + PATIENCE;
  let place = null;
  while (!(place = found(app, id)) && performance.now() < end) await pause();
  if (!place) return;
  const { panel, starter, task } = place;
  await panel.context.ready;
  app.shell.activateById(panel.id);
  panel.content.deselectAll();
  const moved = new AbortController(); // by the reader, who then is left alone
  for (const kind of HANDS) addEventListener(kind, () => moved.abort(), { capture: true, signal: moved.signal });
  for (let look = 0; look < LOOKS && !moved.signal.aborted && asked === id; look += 1) {
    if (!look || !inView(panel.content, starter)) {
      panel.content.activeCellIndex = starter;
      await panel.content.scrollToItem(task, "start");
    }
    await pause();
  }
  moved.abort();
}

export function arrive(app) {
  asked = wanted(); // the application changes the address while it starts
  app.started.then(() => asked && go(app, asked));
  addEventListener("hashchange", () => {
    if (!wanted()) return;
    asked = wanted();
    go(app, asked);
  });
}
