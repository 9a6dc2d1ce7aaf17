// The book's pages: one classic script, so that it also runs from file://.
import { mountAll } from "./core/host.js";
import registry from "./registry.js";

// The script stands right behind the page's first widget, which comes to life while the rest is
// still being read; the others follow when the page is complete.
mountAll(registry);
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => mountAll(registry));
