// The book's pages: one classic script, so that it also runs from file://.
import { mountAll } from "./core/host.js";
import registry from "./registry.js";

const start = () => mountAll(registry);
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
else start();
addEventListener("hashchange", () => {
  // A link to a state of this page: start over from it, as a fresh visit would.
  if (Object.keys(registry).some((name) => location.hash.startsWith(`#${name}:`))) location.reload();
});
