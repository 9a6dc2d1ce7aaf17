// node build.mjs OUT: writes the page bundles, the Jupyter module, the style and the pictures.
// The packages are looked for in NODE_PATH, so that no node_modules lies in the Python package.
import { createRequire } from "node:module";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2];
const packages = process.env.NODE_PATH;
const { buildSync, transformSync } = createRequire(join(packages, "x.js"))("esbuild");
mkdirSync(out, { recursive: true });

const common = {
  absWorkingDir: here, bundle: true, minify: true, charset: "utf8", target: "es2022",
  legalComments: "none", nodePaths: [packages], logLevel: "error",
};
buildSync({ ...common, entryPoints: ["page.js"], format: "iife", outfile: join(out, "living.page.js") });
buildSync({ ...common, entryPoints: ["trained.js"], format: "iife", outfile: join(out, "living.trained.js") });
buildSync({ ...common, entryPoints: ["progress/index.js"], format: "iife", outfile: join(out, "living.progress.js") });
// The editor is CodeMirror's for the greater part, and carries its licence.
const licence = readFileSync(join(packages, "@codemirror/view/LICENSE"), "utf8");
const banner = { editor: { js: `/* CodeMirror\n${licence}*/` } };
for (const [source, name] of [["index", "python"], ["editor", "editor"], ["worker", "worker"]]) {
  buildSync({ ...common, entryPoints: [`python/${source}.js`], format: "iife", outfile: join(out, `living.${name}.js`), banner: banner[name] });
}
buildSync({ ...common, entryPoints: ["pencil/index.js"], format: "iife", outfile: join(out, "living.pencil.js") });
buildSync({ ...common, entryPoints: ["notebook/index.js"], format: "iife", outfile: join(out, "living.notebook.js") });
buildSync({ ...common, entryPoints: ["jupyter.js"], format: "esm", outfile: join(out, "living.jupyter.js") });

const read = (name) => readFileSync(join(here, name), "utf8");
const packed = (css) => transformSync(css, { loader: "css", minify: true }).code.trim();
const styles = readdirSync(here).map((room) => `${room}/style.css`).filter((name) => existsSync(join(here, name))).sort();
writeFileSync(join(out, "living.css"), `${packed(["core/living.css", ...styles].map(read).join(""))}\n`);

// The same definitions for Node: the tests compute with them, and the pictures come from them.
const forNode = join(out, "living.node.mjs");
buildSync({ ...common, minify: false, entryPoints: ["node.js"], format: "esm", platform: "node", outfile: forNode });
const { registry, defaults } = await import(pathToFileURL(forNode));
for (const [name, { draw, compute, schema, describe }] of Object.entries(registry)) {
  if (!draw) continue;
  const result = compute(defaults(schema));
  const markup = draw(result, { width: 720, uid: name, label: describe(result) });
  const svg = markup.slice(markup.indexOf("<svg"), markup.lastIndexOf("</svg>") + 6);
  const style = `<style>${packed(read(`${name}/style.css`))}</style>`; // a picture may stand alone
  writeFileSync(join(out, `${name}.svg`), `${svg.replace(">", `>${style}`)}\n`);
}
