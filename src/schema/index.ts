export type { Dialect } from "./dialect.ts";
export {
  createResolver,
  followPointer,
  type ResolvedReference,
  type Resolver,
  type ResolverOptions,
} from "./references.ts";
