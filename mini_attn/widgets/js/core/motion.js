// How long what changes is on its way, and whether a reader wants nothing to move.
export const MOTION = 250; // milliseconds
export const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
