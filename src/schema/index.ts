export {
  type CompiledSchema,
  collectErrors,
  compileSchema,
  formatValueErrors,
  type ValueError,
  validateOrThrow,
} from "./compile.ts";
export { componentPrefix, restoreComponent, sourceKeyword, splitComponent } from "./component-schemas.ts";
export { FromSchema, type FromSchemaOptions, type SchemaReport } from "./from-schema.ts";
export {
  assertsNothing,
  copySubschemas,
  type Dialect,
  dialectOf,
  forEachSubschema,
  type SchemaObject,
  schemasIn,
} from "./keywords.ts";
export {
  createDefaultFiller,
  createInstanceReader,
  createNormaliser,
  findLostDigits,
  type InstanceReader,
  looksClassless,
  type Normalised,
  type QuickCheck,
  toCallerView,
} from "./normalise/index.ts";
export { Resolver } from "./references.ts";
export { SchemaCopier } from "./schema-copier.ts";
export { SchemaError } from "./schema-error.ts";
export { assertIsSchema, type StandardValidate, toSchema } from "./to-schema.ts";
