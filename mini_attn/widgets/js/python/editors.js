// The script that makes editors: it comes once, when the first is wanted.
import { python } from "./interpreter.js";

let coming = null;
// Resolves with the function that makes one.
export function editors() {
  coming ??= new Promise((resolve, reject) => {
    const script = Object.assign(document.createElement("script"), { src: python.addresses.editor });
    script.onload = () => resolve(globalThis.livingEditor);
    script.onerror = () => {
      coming = null; // another click asks again
      reject(new Error("The editor did not come: is the connection broken?"));
    };
    document.head.append(script);
  });
  return coming;
}
