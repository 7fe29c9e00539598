export type { CircuitBreakerOptions, RetryOptions } from "../../middleware/index.ts";
export type {
  ExternalReferences,
  HTTPAuth,
  HTTPReconnect,
  HTTPServiceConfig,
  OperationFilter,
  PaginationRule,
  Secret,
} from "./config.ts";
export { FromOpenAPI, FromOpenAPIFile, FromOpenAPIUrl, type OpenAPIFS } from "./from-openapi.ts";
export { importOpenAPI, type OpenAPIImport } from "./import-openapi.ts";
export type { ImportedOperation } from "./operation.ts";
export { parseOpenAPI } from "./parse.ts";
export { OpenAPIService, type OpenAPIServiceChange, type OpenAPIServiceOptions } from "./service.ts";
export { OpenAPIServiceRegistry } from "./service-registry.ts";
export type { OpenAPIOperation, OpenAPIParameter, OpenAPISpec } from "./spec.ts";
