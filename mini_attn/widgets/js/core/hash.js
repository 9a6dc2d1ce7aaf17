// A link to a state: #decode_stepper:step=3&cached=true. Only what differs from the defaults.
import { defaults, read } from "./schema.js";

export function toHash(name, schema, state) {
  const start = defaults(schema);
  const parts = Object.keys(schema)
    .filter((key) => state[key] !== start[key])
    .map((key) => `${key}=${encodeURIComponent(state[key]).replaceAll("%20", "+")}`);
  return `#${name}:${parts.join("&")}`;
}

// The values that an address gives to this widget (as a state to be validated), or null.
export function fromHash(name, schema, hash) {
  const prefix = `#${name}:`;
  if (!hash.startsWith(prefix)) return null;
  const given = Object.create(null); // so that __proto__ is a key like any other, and refused
  for (const part of hash.slice(prefix.length, prefix.length + 2000).split("&").filter(Boolean)) {
    const at = part.indexOf("=");
    const key = at < 0 ? part : part.slice(0, at);
    let text = at < 0 ? "" : part.slice(at + 1);
    try {
      text = decodeURIComponent(text.replaceAll("+", " ")); // a plus sign itself is %2B
    } catch {
      // A broken escape is a wrong value; the schema says so.
    }
    given[key] = Object.hasOwn(schema, key) ? read(schema[key], text) : text;
  }
  return given;
}

// The line of Python that makes this state: DecodeStepper(step=3, cached=False).
export function toPython(name, schema, state) {
  const start = defaults(schema);
  const literal = (value) => (typeof value === "boolean" ? (value ? "True" : "False") : JSON.stringify(value));
  const given = Object.keys(schema).filter((key) => state[key] !== start[key]).map((key) => `${key}=${literal(state[key])}`);
  const title = name.replace(/(^|_)(.)/g, (_, before, letter) => letter.toUpperCase());
  return `${title}(${given.join(", ")})`;
}
