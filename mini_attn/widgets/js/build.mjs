// node build.mjs OUT: writes the page bundles, the Jupyter module, the style and the pictures.
// The packages are looked for in NODE_PATH, so that no node_modules lies in the Python package.
import { createRequire } from "node:module";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2];
const packages = process.env.NODE_PATH;
const { buildSync, transformSync } = createRequire(join(packages, "x.js"))("esbuild");
mkdirSync(out, { recursive: true });

const read = (name) => readFileSync(join(here, name), "utf8");
const within = (name) => readdirSync(here).filter((room) => existsSync(join(here, room, name))).sort();
// "rooms" is every room with a schema, but not those that trained.js mounts itself.
const apart = (room) => read("trained.js").includes(`"./${room}/index.js"`);
const rooms = within("schema.json").filter((room) => !apart(room));
const registry = join(mkdtempSync(join(tmpdir(), "rooms-")), "rooms.mjs");
writeFileSync(registry, [
  ...rooms.map((room) => `import ${room} from ${JSON.stringify(join(here, room, "index.js"))};`),
  `export default { ${rooms.join(", ")} };`,
].join("\n"));

const common = {
  absWorkingDir: here, bundle: true, minify: true, charset: "utf8", target: "es2022", metafile: true,
  legalComments: "none", loader: { ".css": "text", ".wat": "text", ".wgsl": "text" }, nodePaths: [packages],
  logLevel: "error",
  alias: { rooms: registry, "d3-interpolate": "./core/interpolate.js", "d3-format": "./core/format.js" },
};

// The licences of the packages in a bundle, each text once, below all who claim it.
function licences({ inputs }) {
  const names = Object.keys(inputs).map((path) => path.match(/.*node_modules\/((@[^/]+\/)?[^/]+)/)?.[1]);
  const claims = new Map();
  for (const name of [...new Set(names)].filter(Boolean).sort()) {
    const lines = readFileSync(join(packages, name, "LICENSE"), "utf8").trim().split("\n");
    const text = lines.filter((line) => !line.startsWith("Copyright")).join("\n").trim();
    const owner = lines.find((line) => line.startsWith("Copyright"));
    claims.set(text, [...(claims.get(text) ?? []), `${name}: ${owner}`]);
  }
  return [...claims].map(([text, owners]) => `/* ${owners.join("\n")}\n\n${text} */\n`).join("");
}

function bundle(source, name, format = "iife") {
  const outfile = join(out, `living.${name}.js`);
  const { metafile } = buildSync({ ...common, entryPoints: [source], format, outfile });
  const [{ inputs }] = Object.values(metafile.outputs);
  writeFileSync(outfile, licences({ inputs }) + readFileSync(outfile, "utf8"));
}
for (const name of ["page", "trained"]) bundle(`${name}.js`, name);
for (const name of ["progress", "pencil", "notebook", "scorm", "clinic", "returns"]) bundle(`${name}/index.js`, name);
bundle("returns/early.js", "early");
bundle("progress/handin.js", "handin");
bundle("your_machine/index.js", "machine");
for (const [source, name] of [["index", "python"], ["editor", "editor"], ["worker", "worker"]]) bundle(`python/${source}.js`, name);
bundle("your_model/index.js", "model");
bundle("jupyter.js", "jupyter", "esm");

const packed = (css) => transformSync(css, { loader: "css", minify: true }).code.trim();
const styles = within("style.css").map((room) => `${room}/style.css`);
writeFileSync(join(out, "living.css"), `${packed(["core/living.css", ...styles].map(read).join(""))}\n`);

// The same definitions for Node: the tests compute with them, and the pictures come from them.
const forNode = join(out, "living.node.mjs");
buildSync({ ...common, minify: false, entryPoints: ["node.js"], format: "esm", platform: "node", outfile: forNode });
const { registry: known, defaults, preview } = await import(pathToFileURL(forNode));
// A picture that stands alone has its style in it.
function writePicture(name, markup, rooms) {
  const svg = markup.slice(markup.indexOf("<svg"), markup.lastIndexOf("</svg>") + 6);
  const style = `<style>${packed(rooms.map((room) => read(`${room}/style.css`)).join(""))}</style>`;
  writeFileSync(join(out, `${name}.svg`), `${svg.replace(">", `>${style}`)}\n`);
}
for (const [name, { draw, compute, schema, describe, looks = [] }] of Object.entries(known)) {
  if (!draw) continue;
  // What is printed may be further on than where a reader begins.
  const still = Object.entries(schema).filter(([, entry]) => "still" in entry).map(([key, entry]) => [key, entry.still]);
  const result = compute({ ...defaults(schema), ...Object.fromEntries(still) });
  writePicture(name, draw(result, { width: 720, uid: name, label: describe(result) }), [...looks, name]);
}
writePicture("home_model-preview", preview(), ["heads", "home_model"]);
rmSync(dirname(registry), { recursive: true });
