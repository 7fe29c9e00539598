// Declarations of this package mention `AsyncDisposable`, which programs for browsers often do not have among their `lib`.
/// <reference lib="esnext.disposable" preserve="true" />
export { checkCallOptions, checkPastDeadline, withDeadline } from "./call-options.ts";
export { checkAccess, checkResource, checkScopes, enforceAccess } from "./check-access.ts";
export {
  type CallArguments,
  type Client,
  type ClientAny,
  type ClientCall,
  type ClientErrors,
  type ClientOperation,
  type ClientSubscription,
  explainPaths,
  probedNames,
  type RemoteAny,
  type RemoteCall,
  type RemoteCallOptions,
  type RemoteOperation,
  type RemoteOperations,
  type RemoteSubscribeOptions,
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
  NestedCallArguments,
  NestedCallOptions,
  OperationContext,
  OperationEnv,
  Progress,
  SubscribeOptions,
} from "./context.ts";
export { progressFields } from "./context.ts";
export type {
  CreateError,
  DeclaredError,
  DeclaredErrors,
  DetailsOf,
  ErrorDeclaration,
  ErrorDeclarations,
} from "./declared-errors.ts";
export { createDeclaredErrors, hasCode, isDeclaredError } from "./declared-errors.ts";
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
export type {
  Drift,
  DriftKind,
  DriftReport,
  HTTPResponseMeta,
  LocalResponseMeta,
  MCPResponseMeta,
  ResponseMeta,
} from "./envelope-fields.ts";
export { envelopeFields } from "./envelope-fields.ts";
export type { CallErrorOptions, ErrorCodeInfo } from "./error.ts";
export { CallError, errorCodes, InfrastructureErrorCode, isCallError } from "./error.ts";
export { type CallErrorJSON, errorJSONFields } from "./error-json.ts";
export {
  aborted,
  accessDenied,
  credentialExpired,
  credentialRevoked,
  limitExceeded,
  nestedFailure,
  outputInvalid,
  silentTooLong,
  timedOut,
  unavailable,
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
export { expiryOf, identityFields, toIdentity } from "./identity.ts";
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
export { mapError } from "./map-error.ts";
export {
  describesObject,
  isToolHandler,
  type MCPAnnotations,
  type MCPContentBlock,
  type MCPResourceContent,
  type MCPResultMeta,
  markToolHandler,
  mcpMetaKey,
} from "./mcp-content.ts";
export { nearestOperation } from "./nearest-operation.ts";
export { handlerMissing, notAnId, notServedNow, operationNotFound, operationUnknown } from "./not-found-errors.ts";
export { formatOperationId, namespacePattern, parseOperationId, toNamespace } from "./operation-id.ts";
export {
  HTTPResponseMetaSchema,
  LocalResponseMetaSchema,
  MCPContentBlockSchema,
  MCPResponseMetaSchema,
  OperationSpecSchema,
  ResponseEnvelopeSchema,
  ResponseMetaSchema,
  toObjectSchema,
} from "./schemas.ts";
export type {
  AccessControl,
  ErrorDefinition,
  IOperationDefinition,
  OperationHandler,
  OperationSpec,
  OutputPolicy,
  SubscriptionHandler,
} from "./spec.ts";
export { assertValidSpec, copySpec, OperationType, specFields, toAccessControl, toPublicSpec } from "./spec.ts";
export { Type } from "./type.ts";
