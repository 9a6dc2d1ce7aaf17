// One schema per widget says what a state may be; Python reads the same file.

export function defaults(schema) {
  return Object.fromEntries(Object.entries(schema).map(([key, entry]) => [key, entry.default]));
}

// The reason why a value is refused, or null.
export function fault(entry, key, value) {
  const shown = typeof value === "string" ? `"${value.slice(0, 40)}"` : String(value).slice(0, 40);
  if (entry.type === "bool") return typeof value === "boolean" ? null : `${key} is true or false, not ${shown}`;
  if (entry.type === "enum") {
    return entry.values.includes(value) ? null : `${key} is one of ${entry.values.join(", ")}, not ${shown}`;
  }
  if (entry.type === "string") {
    if (typeof value !== "string") return `${key} is a text, not ${shown}`;
    return value.length <= entry.max ? null : `${key} has at most ${entry.max} characters, not ${value.length}`;
  }
  if (typeof value !== "number" || !Number.isFinite(value)) return `${key} is a number, not ${shown}`;
  if (entry.type === "int" && !Number.isInteger(value)) return `${key} is a whole number, not ${shown}`;
  return value >= entry.min && value <= entry.max ? null : `${key} is ${entry.min} to ${entry.max}, not ${shown}`;
}

// {state, error}: the defaults with the given values, or the defaults and the first fault.
export function validate(schema, given) {
  if (given === null || typeof given !== "object" || Array.isArray(given)) {
    return { state: defaults(schema), error: "a state is an object of named values" };
  }
  for (const [key, value] of Object.entries(given)) {
    const error = Object.hasOwn(schema, key)
      ? fault(schema[key], key, value)
      : `there is no "${key.slice(0, 40)}" here, only ${Object.keys(schema).join(", ")}`;
    if (error) return { state: defaults(schema), error };
  }
  return { state: { ...defaults(schema), ...given }, error: null };
}

// A text from an address or an input, in the type that the schema asks for; unreadable stays text.
export function read(entry, text) {
  if (entry.type === "bool") return text === "true" || text === "1" ? true : text === "false" || text === "0" ? false : text;
  const number = entry.type === "int" || entry.type === "number" || typeof entry.values?.[0] === "number";
  return number && text.trim() !== "" && !Number.isNaN(Number(text)) ? Number(text) : text;
}
