export { type CompiledSchema, compileSchema, type ValueError } from "./compile.ts";
export type { Dialect } from "./dialect.ts";
export { FromSchema, type FromSchemaOptions, type SchemaReport } from "./from-schema.ts";
export {
  createDefaultFiller,
  createNormaliser,
  createPlainForm,
  isPlainAtRoot,
  type Normalised,
  type PlainForm,
  restoreDigits,
  toCallerView,
} from "./normalise/index.ts";
export { SchemaError } from "./schema-error.ts";
export { assertIsSchema, type StandardValidate, toSchema } from "./to-schema.ts";
export { collectErrors, formatValueErrors, validateOrThrow } from "./validate.ts";
