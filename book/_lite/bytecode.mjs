// Starts the served Python in Node, as a page's worker starts it, and runs bytecode.py in it:
//   node bytecode.mjs <folder with Pyodide, its packages and page-lock.json>
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide.mjs`));
const python = await loadPyodide({
  indexURL: folder,
  lockFileURL: `${folder}/page-lock.json`,
  packages: ["numpy", "mini-attn"],
  // The order of a set of constants follows the hash seed: one seed, the same bytes each time.
  env: { MINI_ATTN_PROGRESS: "off", HOME: "/home/pyodide", PYTHONHASHSEED: "0" },
});
python.mountNodeFS("/served", folder);
python.runPython(readFileSync(new URL("bytecode.py", import.meta.url), "utf8"));
