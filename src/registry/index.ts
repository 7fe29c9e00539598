// The public names. Siblings that need more enter through `inside.ts`.
export {
  type BuildEnvOptions,
  buildEnv,
  type CreateRegistryOptions,
  createRegistry,
  subscribe,
} from "./functions.ts";
export { OperationRegistry } from "./registry.ts";
export type * from "./types.ts";
