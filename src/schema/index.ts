export { type CompiledSchema, compileSchema, type ValueError, type ValueErrors } from "./compile.ts";
export type { Dialect } from "./dialect.ts";
export { FromSchema, type FromSchemaOptions, type SchemaReport } from "./from-schema.ts";
export { createDefaultFiller, createNormaliser, type Normalised, type Normaliser } from "./normalise/index.ts";
export {
  createResolver,
  followPointer,
  type ResolvedReference,
  type Resolver,
  type ResolverOptions,
} from "./references.ts";
export { SchemaError } from "./schema-error.ts";
export { assertIsSchema, type Direction, type StandardValidate, toSchema, type UsableSchema } from "./to-schema.ts";
export { collectErrors, formatValueErrors, validateOrThrow } from "./validate.ts";
