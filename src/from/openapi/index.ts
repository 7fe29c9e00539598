export type { CircuitBreakerOptions, RetryOptions } from "../../middleware/index.ts";
export type { HeldOperation } from "../pins.ts";
export type {
  ExternalReferences,
  HTTPAuth,
  HTTPReconnect,
  HTTPServiceConfig,
  OperationFilter,
  PaginationRule,
  Secret,
} from "./config.ts";
export type { OpenAPIOperation, OpenAPIParameter, OpenAPISpec } from "./document.ts";
export { FromOpenAPI, FromOpenAPIFile, FromOpenAPIUrl, type OpenAPIFS } from "./from-openapi.ts";
export type { ImportedOperation } from "./operation.ts";
export { parseOpenAPI } from "./parse.ts";
export {
  type OpenAPIChange,
  type OpenAPISource,
  type OpenAPISourceConfig,
  type OpenAPISourceOptions,
  openAPISource,
  type TrustedSourceConfig,
} from "./source.ts";
