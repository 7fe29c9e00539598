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
export type { OpenAPIOperation, OpenAPIParameter, OpenAPISpec } from "./document.ts";
export { FromOpenAPI, FromOpenAPIFile, FromOpenAPIUrl, type OpenAPIFS } from "./from-openapi.ts";
export { importOpenAPI, type OpenAPIImport } from "./import-openapi.ts";
export type { ImportedOperation } from "./operation.ts";
export { parseOpenAPI } from "./parse.ts";
export {
  OpenAPIService,
  type OpenAPIServiceChange,
  type OpenAPIServiceOptions,
  OpenAPIServiceRegistry,
} from "./service.ts";
