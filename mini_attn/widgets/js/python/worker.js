// Python, in a worker that the page can end. Asked by {id, ask: "start" | "run" | "check", ...};
// tells {id, tell: kind, text} while it works and answers {id, done} or {id, failed} once.
// A classic script, as Pyodide's own start is one.
const PACKAGES = ["numpy", "mini-attn"];
// Figures are drawn without a screen; progress is the page's own; no bytecode is kept, as the
// modules of a start come with theirs and the rest is imported once.
const SETTINGS = {
  MPLBACKEND: "agg", MINI_ATTN_PROGRESS: "off", HOME: "/home/pyodide", PYTHONDONTWRITEBYTECODE: "1",
};

let python = null;
let doors = null; // the module that runs and checks
let turn = Promise.resolve(); // one thing at a time, in the order of asking

async function start({ pyodide }, tell) {
  if (doors) return {};
  const began = performance.now();
  try {
    importScripts(`${pyodide}pyodide.js`);
  } catch {
    throw new Error("absent");
  }
  tell("phase", "core");
  python = await loadPyodide({
    indexURL: pyodide, packages: PACKAGES, env: SETTINGS,
    // What a page starts with comes as bytecode: to compile it here took half of the start.
    lockFileURL: `${pyodide}page-lock.json`, stdLibURL: `${pyodide}page-stdlib.zip`,
  });
  tell("phase", "package");
  doors = python.pyimport("mini_attn.exercises.on_page");
  return { seconds: (performance.now() - began) / 1000 };
}

// What the code imports and is not there yet: matplotlib, at its first use.
async function load(code, tell) {
  let found = [];
  try {
    found = python.pyimport("pyodide.code").find_imports(code).toJs();
  } catch {
    return; // it cannot be read: running it will say why
  }
  if (!found.includes("matplotlib") || python.loadedPackages.matplotlib) return;
  const began = performance.now();
  tell("loading", "matplotlib");
  await python.loadPackage("matplotlib");
  python.pyimport("matplotlib.pyplot");
  tell("loaded", `matplotlib in ${((performance.now() - began) / 1000).toFixed(1)} s`);
}

async function work(message, tell) {
  const started = await start(message, tell);
  if (message.ask === "start") return started;
  await load(message.code, tell);
  const answer = message.ask === "check"
    ? doors.check(message.exercise, message.code, tell) : doors.run(message.code, message.name, tell);
  const plain = answer.toJs({ dict_converter: Object.fromEntries });
  answer.destroy();
  return plain;
}

onmessage = ({ data }) => {
  const tell = (kind, text) => postMessage({ id: data.id, tell: kind, text });
  turn = turn
    .then(() => work(data, tell))
    .then((done) => postMessage({ id: data.id, done }))
    .catch((error) => postMessage({ id: data.id, failed: String(error?.message ?? error) }));
};
