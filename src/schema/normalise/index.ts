export { toCallerView } from "./caller-view.ts";
export { createInstanceReader, type InstanceReader } from "./class-instances.ts";
export { findLostDigits } from "./convert.ts";
export { createDefaultFiller } from "./input-defaults.ts";
export { createNormaliser, type Normalised } from "./normaliser.ts";
export { looksClassless, type QuickCheck } from "./unchanged-check.ts";
