// Declarations of this package mention `AsyncDisposable`, which programs for browsers often do not have among their `lib`.
/// <reference lib="esnext.disposable" preserve="true" />
export { checkCallOptions, checkPastDeadline, withDeadline } from "./call-options.ts";
export { checkAccess, checkResource, checkScopes, enforceAccess } from "./check-access.ts";
export { assertValidSpec, toAccessControl } from "./check-spec.ts";
export {
  type CallArguments,
  type Client,
  type ClientAny,
  type ClientCall,
  type ClientErrors,
  type ClientOperation,
  type ClientSubscription,
  type RemoteAny,
  type RemoteCall,
  type RemoteOperation,
  type RemoteOperations,
  type RemoteSubscription,
  type SubscribeArguments,
  type SubscriptionIterator,
  toData,
  toDataIterator,
  unwrap,
} from "./client.ts";
export type {
  CallableOperation,
  CallOperation,
  CallOptions,
  ForwardedCall,
  NestedCallArguments,
  OperationContext,
  OperationEnv,
  OwnOptions,
  Progress,
  SubscribeOptions,
} from "./context.ts";
export type {
  CreateError,
  DeclaredError,
  DeclaredErrors,
  DetailsOf,
  ErrorDeclaration,
  ErrorDeclarations,
} from "./declared-errors.ts";
export { createDeclaredErrors, isDeclaredError } from "./declared-errors.ts";
export type { DefaultBuilders, TDefault } from "./default-builders.ts";
export type {
  DefineInNamespace,
  HandlerOf,
  HTTPRoute,
  IdOf,
  KnownFrom,
  OperationDefaults,
  OperationDefinition,
  OperationInit,
} from "./define.ts";
export { defineNamespace, defineOperation } from "./define.ts";
export type { ResponseEnvelope, ResponseSource } from "./envelope.ts";
export {
  httpEnvelope,
  isResponseEnvelope,
  localEnvelope,
  mcpEnvelope,
  RESPONSE_SOURCES,
  restoreData,
} from "./envelope.ts";
export type { CallErrorJSON, CallErrorOptions, ErrorCodeInfo } from "./error.ts";
export { CallError, errorCodes, hasCode, InfrastructureErrorCode, isCallError, mapError } from "./error.ts";
export {
  aborted,
  accessDenied,
  credentialEnded,
  handlerMissing,
  limitExceeded,
  nestedFailure,
  notAnId,
  notServedNow,
  operationNotFound,
  outputInvalid,
  overloaded,
  silentTooLong,
  timedOut,
  unavailable,
  type ValueProblem,
  validationError,
  wrongOperationType,
} from "./errors.ts";
export {
  envelopeLevels,
  envelopeType,
  eventStreamType,
  formatOperationPath,
  lastEvent,
  problemType,
  readEnvelope,
  readProblem,
  requestedDelay,
  toJSONText,
} from "./http-form.ts";
export type { AuthenticatedIdentity, Identity } from "./identity.ts";
export { expiryOf, toIdentity } from "./identity.ts";
export type { InferHandlerInput, InferInput, InferOutput } from "./infer.ts";
export type {
  AcceptsEmpty,
  CallsOf,
  DataOf,
  EnvFunction,
  KnownEnv,
  KnownOperation,
  KnownOperations,
  NameOf,
  NamespaceOf,
  OperationsByNamespace,
  Register,
  RegisteredEnv,
  SubscriptionsOf,
} from "./known.ts";
export type { Limits } from "./limits.ts";
export { checkSubscribeOptions, defaultLimits, resolveCount, resolveDuration, resolveLimits } from "./limits.ts";
export { loadPeer } from "./load-peer.ts";
export {
  describesObject,
  isToolHandler,
  type MCPAnnotations,
  type MCPContentBlock,
  MCPContentBlockSchema,
  type MCPResourceContent,
  type MCPResultMeta,
  markToolHandler,
  mcpMetaKey,
} from "./mcp-content.ts";
export { nearestOperation } from "./nearest-operation.ts";
export { formatOperationId, namespacePattern, parseOperationId, toNamespace } from "./operation-id.ts";
export {
  mergeRequestFields,
  type RequestFields,
  readRequestFields,
  requestFields,
  writeRequestFields,
} from "./request-fields.ts";
export type {
  Drift,
  DriftKind,
  DriftReport,
  HTTPResponseMeta,
  LocalResponseMeta,
  MCPResponseMeta,
  ResponseMeta,
} from "./response-meta.ts";
export {
  HTTPResponseMetaSchema,
  LocalResponseMetaSchema,
  MCPResponseMetaSchema,
  ResponseEnvelopeSchema,
  ResponseMetaSchema,
} from "./response-meta.ts";
export type {
  AccessControl,
  ErrorDefinition,
  IOperationDefinition,
  OperationHandler,
  OperationSpec,
  OutputPolicy,
  SubscriptionHandler,
} from "./spec.ts";
export { copySpec, OperationSpecSchema, OperationType, toPublicSpec } from "./spec.ts";
export { Type } from "./type.ts";
