export { toCallerView } from "./caller-view.ts";
export { createDefaultFiller } from "./default-filler.ts";
export { createNormaliser, type Normalised } from "./normaliser.ts";
