export { toCallerView } from "./caller-view.ts";
export { createDefaultFiller } from "./default-filler.ts";
export { restoreDigits } from "./exact-digits.ts";
export { createNormaliser, type Normalised } from "./normaliser.ts";
export { isPlainAtRoot } from "./plain-check.ts";
export { createPlainForm, type PlainForm } from "./plain-form.ts";
