export type { ContractSpec } from "./contracts.ts";
export { createExample } from "./example.ts";
export {
  choiceOf,
  type Field,
  type FieldKind,
  fieldKindOf,
  fieldsIn,
  labelsOf,
  openForm,
  parseNumber,
  startValueOf,
  writeDraft,
} from "./form.ts";
export {
  type ContractChange,
  type ContractChanges,
  compareContracts,
  type Lock,
  parseLock,
  printLock,
} from "./lock.ts";
export { printBlock, printSignature, printTypes, type Signature } from "./signature.ts";
