// The part of a notebook's widget model that the views use, for pages without a kernel.
export function pageModel(state) {
  const values = { ...state };
  const listeners = new Map();
  return {
    get: (key) => values[key],
    set(key, value) {
      if (values[key] === value) return;
      values[key] = value;
      for (const callback of listeners.get(`change:${key}`) ?? []) callback(undefined, value);
    },
    on(event, callback) {
      listeners.set(event, [...(listeners.get(event) ?? []), callback]);
    },
    off(event, callback) {
      listeners.set(event, (listeners.get(event) ?? []).filter((other) => other !== callback));
    },
    save_changes() {},
  };
}
