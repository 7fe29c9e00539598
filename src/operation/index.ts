export type { AccessControl, Identity } from "./access.ts";
export type { CallOptions, NestedCallOptions, OperationContext, OperationEnv, Progress } from "./context.ts";
export type {
  Drift,
  DriftKind,
  DriftReport,
  HTTPResponseMeta,
  LocalResponseMeta,
  MCPResponseMeta,
  ResponseEnvelope,
  ResponseMeta,
  ResponseSource,
} from "./envelope.ts";
export { httpEnvelope, isResponseEnvelope, localEnvelope, mcpEnvelope, RESPONSE_SOURCES, unwrap } from "./envelope.ts";
export type { CallErrorJSON, CallErrorOptions } from "./error.ts";
export { CallError, InfrastructureErrorCode, isCallError } from "./error.ts";
export type {
  CallId,
  KnownEnv,
  KnownOperation,
  KnownOperations,
  NameIn,
  NamespaceOf,
  Register,
  SubscriptionId,
} from "./known.ts";
export type { Limits } from "./limits.ts";
export { defaultLimits } from "./limits.ts";
export type { MCPAnnotations, MCPContentBlock, MCPResourceContent } from "./mcp-content.ts";
export type {
  ErrorDefinition,
  IOperationDefinition,
  OperationHandler,
  OperationSpec,
  OutputPolicy,
  SubscriptionHandler,
} from "./spec.ts";
export { OperationType } from "./spec.ts";
