// The book's pages: one classic script, so that it also runs from file://.
import { mountAll } from "./core/host.js";
import registry from "./registry.js";

const start = () => mountAll(registry);
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
else start();
