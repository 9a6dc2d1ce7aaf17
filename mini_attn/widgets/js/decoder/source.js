// Where trained weights come from. On a page each decoder is a script of its own, put into the page
// when it is first asked for, which also works from a file; a notebook's kernel hands them over.
import { openModel } from "./weights.js";

const base = globalThis.document?.currentScript?.src ?? ""; // only while the bundle itself is read
const opened = new Map();
const coming = new Map();

export const modelOf = (name) => opened.get(name);
export const put = (name, data) => opened.set(name, openModel(data));

// The remainder that zlib calls crc32: other bytes of the same number are noticed, too.
export function checksum(texts) {
  let crc = ~0;
  for (const text of texts) {
    for (let i = 0; i < text.length; i++) {
      crc ^= text.charCodeAt(i);
      for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
    }
  }
  return ~crc >>> 0;
}

// What a model's script left, taken away from where it was left.
function taken(name) {
  const found = globalThis.livingModels?.[name];
  if (!found) throw new Error("its file came, but without weights in it: it is damaged");
  delete globalThis.livingModels[name];
  if (checksum(Object.values(found.data?.tensors ?? {}).map(({ base64 }) => base64)) !== found.check) {
    throw new Error("its file is damaged: the weights are not those that were written");
  }
  return found.data;
}

const fromScript = (name) => new Promise((done, fail) => {
  const script = document.createElement("script");
  const version = globalThis.livingVersions?.[name];
  const path = `models/${name}.js`;
  script.src = new URL(path + (version ? `?v=${version}` : ""), base);
  script.onload = () => done(name);
  script.onerror = () => fail(new Error(`${path} is not there`));
  document.head.append(script);
}).then(taken);

// The kernel answers a new member with its weights, or with why it has none.
const fromKernel = (name, host) => new Promise((done, fail) => {
  const take = () => {
    const { name: given, error, data } = host.get("_model");
    if (given !== name) return;
    host.off("change:_model", take);
    clearTimeout(patience);
    error ? fail(new Error(error)) : done(data);
  };
  const patience = setTimeout(() => fail(new Error("no kernel answers")), 20_000);
  host.on("change:_model", take);
  take();
});

// A promise of a decoder, one for each name; after a failure the next call tries again.
export function bring(name, host) {
  if (!coming.has(name)) {
    const data = host.get("_model") === undefined ? fromScript(name) : fromKernel(name, host);
    coming.set(name, data.then((found) => put(name, found)).catch((error) => {
      coming.delete(name);
      throw new Error(`The decoder ${name} could not be loaded: ${error.message}.`);
    }));
  }
  return coming.get(name);
}
