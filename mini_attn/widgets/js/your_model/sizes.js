// A configuration's sizes, read by the table of its family: weights/families/_sizes.py in JavaScript.
import told from "../data/your_model.json" with { type: "json" };

export class Unreadable extends Error {}

const FAMILIES = told.families;
const LARGEST = Number.MAX_SAFE_INTEGER; // beyond it, numbers of a file are not read exactly
const own = (object, key) => (Object.hasOwn(object, key) ? object[key] : undefined);

// A value as a message shows it.
export function shown(value) {
  const text = typeof value === "number" && !Number.isFinite(value) ? "a number too long to hold" : JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

const refuse = (words) => { throw new Unreadable(words); };

export const isMapping = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
export const isFamily = (name) => typeof name === "string" && Object.hasOwn(FAMILIES, name);

export function checkCount(name, value, least = 1) {
  if (typeof value !== "number" || !Number.isInteger(value)) refuse(`${name} must be a whole number, got ${shown(value)}`);
  if (value < least) refuse(`${name} must be at least ${least}, got ${value}`);
  if (value > LARGEST) refuse(`${name} is larger than any array: ${shown(value)}`);
  return value;
}

// A whole number, or null where that is allowed.
function count(config, key, nullable, least) {
  const value = own(config, key);
  if (value === undefined || (value === null && !nullable)) refuse(`the configuration of ${config.model_type} has no '${key}'`);
  return value === null ? null : checkCount(key, value, least);
}

// True or false; null is the default.
export function flag(config, key, usual) {
  const value = own(config, key) ?? usual;
  if (typeof value !== "boolean") refuse(`${key} must be True or False, got ${shown(value)}`);
  return value;
}

const specsOf = (family) => ({ ...told.base, ...FAMILIES[family] });
const keysOf = (spec) => (typeof spec === "string" ? (spec.includes(" ") ? [] : [spec]) : [spec.key ?? spec.list ?? []].flat());

// The file's count, or the default; several keys are names of one number, and null in one is none.
function given(config, spec) {
  const keys = keysOf(spec);
  const present = keys.filter((key) => Object.hasOwn(config, key) && (keys.length === 1 || config[key] !== null));
  if (!present.length && "default" in spec) return spec.default;
  const found = present.map((key) => count(config, key, "null" in spec, spec.least));
  if (new Set(found).size > 1) refuse(`${present.join(" and ")} are two numbers: ${shown(found)}`);
  return found.length ? found[0] : count(config, keys[0]);
}

const OPERATIONS = { "+": (a, b) => a + b, "*": (a, b) => a * b, "//": (a, b) => Math.floor(a / b) };

// A value of the table: itself, another size, or what an operation on sizes gives.
function worth(config, name, value) {
  const specs = specsOf(config.model_type);
  if (typeof value !== "string") return value;
  if (Object.hasOwn(specs, value)) return size(config, value);
  const [left, operation, right] = value.split(" ");
  if (!operation) return value;
  const numbers = [left, right].map((part) => (/^\d+$/.test(part) ? Number(part) : size(config, part)));
  const called = operation === "//" ? [left, right].map((part) => keysOf(specs[part])[0]).join(" // ") : name;
  return checkCount(called, OPERATIONS[operation](...numbers));
}

export function size(config, name) {
  const spec = specsOf(config.model_type)[name];
  if (typeof spec === "string") return count(config, spec);
  if ("is" in spec) return worth(config, name, spec.is);
  if ("list" in spec) return own(config, spec.list) ?? null;
  if (typeof spec.default === "boolean") {
    const said = flag(config, spec.key, spec.default);
    return spec[said ? "yes" : "no"] ?? said;
  }
  const value = given(config, spec) ?? worth(config, name, spec.null);
  return "times" in spec ? checkCount(name, value * worth(config, name, spec.times), spec.least) : value;
}

// Keys that a family's file may have, and those that nobody knows and that are not off.
export function unknownIn(config) {
  const specs = specsOf(config.model_type);
  const known = new Set([...Object.values(specs).flatMap(keysOf), ...specs.also.split(" "), ...told.harmless.split(" ")]);
  const off = (value) => value === null || value === false || value === "" || (typeof value === "object" && !Object.keys(value).length);
  return Object.keys(config).filter((key) => !known.has(key) && !off(config[key]));
}
