// The book's pages: one classic script, so that it also runs from file://.
import { mountAll } from "./core/host.js";
import registry from "rooms";

// The script stands right behind the page's first widget, and a call behind each of the others:
// they come to life as they are read, before they are painted, and nothing that follows moves.
(globalThis.livingMount = (rooms = registry) => mountAll(rooms))();
