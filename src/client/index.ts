export type { SignIdentity } from "../call/outgoing/index.ts";
export type {
  CallErrorJSON,
  ClientErrors,
  DeclaredError,
  Identity,
  KnownOperation,
  KnownOperations,
  OperationsByNamespace,
  OwnOptions,
  Progress,
  Register,
  RemoteAny,
  RemoteCall,
  RemoteOperation,
  RemoteOperations,
  RemoteSubscription,
  ResponseEnvelope,
  ResponseMeta,
} from "../operation/index.ts";
export { CallError, isCallError, unwrap } from "../operation/index.ts";
export type { Transport } from "../transport/transport.ts";
export { type ConnectOptions, connect, type GeneratedOperations, type KnownIn, type RemoteClient } from "./connect.ts";
