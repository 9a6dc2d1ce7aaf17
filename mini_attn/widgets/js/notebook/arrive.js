// A link from an exercise of a page opens the notebook there: …?path=kv-cache.ipynb#exercise=id.
const PATIENCE = 60_000; // milliseconds; a first visit loads the whole application

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

async function go(app, id) {
  const end = performance.now() + PATIENCE;
  let place = null;
  while (!(place = found(app, id)) && performance.now() < end) await new Promise((done) => setTimeout(done, 100));
  if (!place) return;
  const { panel, starter, task } = place;
  await panel.context.ready;
  app.shell.activateById(panel.id);
  panel.content.activeCellIndex = starter;
  panel.content.deselectAll();
  await panel.content.scrollToItem(task, "start");
}

export function arrive(app) {
  let asked = wanted(); // the application changes the address while it starts
  app.started.then(() => asked && go(app, asked));
  addEventListener("hashchange", () => {
    asked = wanted();
    if (asked) go(app, asked);
  });
}
