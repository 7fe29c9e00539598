export { createDefaultFiller } from "./default-filler.ts";
export { createNormaliser, type Normalised } from "./normaliser.ts";
