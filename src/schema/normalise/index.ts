export { createDefaultFiller } from "./default-filler.ts";
export { createNormaliser, type Normalised, type Normaliser } from "./normaliser.ts";
