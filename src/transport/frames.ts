import {
  type Identity,
  isResponseEnvelope,
  type OperationSpec,
  type Progress,
  type RequestFields,
  type ResponseEnvelope,
  requestFields,
} from "../operation/inside.ts";
import {
  array,
  boolean,
  type Field,
  literal,
  number,
  type ObjectOf,
  object,
  optional,
  string,
  unknown,
} from "./shape.ts";

const maxIdLength = 256;
/** Namespace, dot and name. */
const maxOperationIdLength = 64 + 1 + 256;
const maxTokenLength = 64 * 1024;

/** Chosen by the caller, with at least 122 random bits. Two callers may use the same id, by accident or on purpose. */
const requestId = string({ minLength: 1, maxLength: maxIdLength });
const peerId = string({ minLength: 1, maxLength: maxIdLength });
const count = { isInteger: true, min: 0 };

type RequestFieldShapes = {
  readonly [Name in keyof RequestFields]-?: Field<NonNullable<RequestFields[Name]>, true> & { isOptional: true };
};

/** Returns the fields that handlers receive, which the table of `operation/` lists. */
function requestFieldShapes(): RequestFieldShapes {
  const shapes = Object.entries(requestFields).map(([name, { kind, maxLength }]) => [
    name,
    optional<unknown>(kind === "object" ? object() : string({ maxLength })),
  ]);
  return Object.fromEntries(shapes);
}

/**
 * Every field of every frame that is sent, by type. The types below, the check of {@link findInvalidField} and the
 * public `CallEventSchema` are derived from this table, so a new field needs one line here. Descriptions are beside that
 * schema, because every client loads this table.
 */
export const frameFields = {
  "call.requested": {
    type: literal("call.requested"),
    /** Identifies the request. */
    requestId,
    /** The full id of the operation, `namespace.name`. */
    operationId: string({ minLength: 1, maxLength: maxOperationIdLength }),
    /** Input of the operation. */
    input: unknown(),
    /** The call whose handler made this one. */
    parentRequestId: optional(string({ maxLength: maxIdLength })),
    /** Number of calls above this one. It is a claim, which can only make limits stricter. Absent for 0. */
    depth: optional(number(count)),
    /** Remaining time when the request was sent, in ms. Clocks of two machines are never compared. */
    timeout: optional(number({ min: Number.NEGATIVE_INFINITY, max: Number.POSITIVE_INFINITY })),
    /** Token that `authenticate` of the server maps to an identity. */
    token: optional(string({ maxLength: maxTokenLength })),
    /** Claimed identity. Only a server that is configured to trust the bus accepts it. */
    identity: optional(object<Identity>()),
    ...requestFieldShapes(),
    /**
     * For subscriptions: number of values that may be sent before `call.credited` allows more. Absent for a single
     * response.
     */
    credit: optional(number(count)),
    /**
     * For subscriptions: approximate maximum number of bytes of values that were sent and not yet consumed. One value
     * may exceed it. Values are consumed in the order in which they were sent, as counted by `call.credited`. Absent
     * for no limit.
     */
    creditBytes: optional(number({ ...count, min: 1 })),
    /** Interval in ms at which the caller expects `call.running` from the worker. Absent where the wire notices its loss. */
    heartbeat: optional(number({ min: 1 })),
    /** Time of the caller's own monotonic clock when the request was sent, in ms. It is a claim. */
    sentAt: optional(number()),
  },
  "call.responded": {
    type: literal("call.responded"),
    /** Identifies the request. */
    requestId,
    /** The result. */
    output: object<ResponseEnvelope>(isSendableEnvelope),
    /** For subscriptions: counts the values from 0. */
    seq: optional(number(count)),
    /** For subscriptions: the consumer must send `call.credited` as soon as it has consumed this value. */
    creditDue: optional(boolean()),
  },
  "call.progressed": {
    type: literal("call.progressed"),
    /** Identifies the request. */
    requestId,
    /** Progress that the handler reported. */
    progress: object<Progress>(),
  },
  "call.credited": {
    type: literal("call.credited"),
    /** Identifies the request. */
    requestId,
    /** Number of further values that the consumer accepts. */
    count: number({ ...count, min: 1 }),
  },
  "call.completed": {
    type: literal("call.completed"),
    /** Identifies the request. */
    requestId,
  },
  "call.aborted": {
    type: literal("call.aborted"),
    /** Identifies the request. */
    requestId,
    /** Reason for the log. */
    reason: optional(string({ maxLength: maxTokenLength })),
  },
  "call.running": {
    type: literal("call.running"),
    /** Ids of the requests of one caller that its worker is running. */
    requestIds: array(requestId) as Field<readonly string[], false>,
  },
  "call.error": {
    type: literal("call.error"),
    /** Identifies the request. */
    requestId,
    /** Identifies the kind of failure. Any string that an operation throws. */
    code: string(),
    /** A description of the failure, for people. */
    message: string(),
    /** Details of the failure; the shape depends on the code. */
    details: optional(unknown()),
    /** Whether the same call may succeed if it is repeated. */
    retryable: boolean(),
    /** Whether the operation may have had an effect; `false` guarantees that it never started. */
    mayHaveRun: boolean(),
  },
  "peer.announced": {
    type: literal("peer.announced"),
    /** Id of the peer. */
    peerId,
    /** Operations of the peer. They replace its earlier announcement. A spec is checked when it is registered. */
    specs: array(object<OperationSpec>()) as Field<readonly OperationSpec[], false>,
    /** Ids of further operations of the peer, whose specs exceed the maximum size of a message. At most 20. */
    omitted: optional(array(string()) as Field<readonly string[]>),
  },
  "peer.left": {
    type: literal("peer.left"),
    /** Id of the peer that left. */
    peerId,
  },
};

type Fields = typeof frameFields;

/** Requests one run of an operation. `call.responded`, `call.completed` or `call.error` ends it. */
export interface CallRequested extends ObjectOf<Fields["call.requested"]> {
  /**
   * Time at which `timeout` expires, by `performance.now()` of the receiving process, if its transport can determine
   * it. A process may be paused between reading a request and running it. Not sent.
   */
  expiresAt?: number | undefined;
  /** Whether a call above this one arrived from another process. Used in process only: a frame on a wire is remote. */
  isRemote?: boolean | undefined;
}

/**
 * One result. With `seq`, which counts from 0, it is one of many. Without it, it is the only result and ends the call.
 */
export interface CallResponded extends ObjectOf<Fields["call.responded"]> {}

/** Progress of a call. */
export interface CallProgressed extends ObjectOf<Fields["call.progressed"]> {}

/** The consumer of a subscription accepts `count` more values. */
export interface CallCredited extends ObjectOf<Fields["call.credited"]> {}

/** The producer of a subscription has finished. */
export interface CallCompleted extends ObjectOf<Fields["call.completed"]> {}

/**
 * The caller cancels the call and does not read further replies. A transport also sends it to the server when the
 * caller disconnects.
 */
export interface CallAborted extends ObjectOf<Fields["call.aborted"]> {}

/** A worker reports the requests of one caller that it is running, at every heartbeat. Only brokers need it. */
export interface CallRunning extends ObjectOf<Fields["call.running"]> {}

/** The call failed. */
export interface CallFailed extends ObjectOf<Fields["call.error"]> {}

/** A peer serves these operations. This replaces its earlier announcement. */
export interface PeerAnnounced extends ObjectOf<Fields["peer.announced"]> {}

/** A peer left and no longer serves its operations. */
export interface PeerLeft extends ObjectOf<Fields["peer.left"]> {}

/** A frame that a caller sends after its `call.requested`. */
export type FollowUp = CallCredited | CallAborted;
/** A frame that the server sends. */
export type ReplyFrame = CallResponded | CallProgressed | CallCompleted | CallFailed;
/** An event that a peer sends about itself. */
export type PeerEvent = PeerAnnounced | PeerLeft;
/** Every frame about a call: objects that are distinguished by `type`. */
export type Frame = CallRequested | FollowUp | ReplyFrame;

/** The fields to check, by frame type. */
const checks = new Map(
  Object.entries(frameFields).map(([type, shape]) => {
    const fields = Object.entries<Field>(shape).filter(([name, { kind }]) => name !== "type" && kind !== "unknown");
    const required = fields.filter(([, { isOptional }]) => !isOptional);
    const optional = fields.filter(([, { isOptional }]) => isOptional);
    return [
      type,
      {
        required: required.map(([name, { isValid }]) => ({ name, isValid })),
        optional: new Map(optional.map(([name, { isValid }]) => [name, isValid])),
      },
    ];
  }),
);

/**
 * Returns the name of a missing or invalid field, or `undefined`. Frames of an unknown type are not checked. Both peers
 * check frames: a receiver closes the link after an invalid frame, so the sender must reject an invalid value first,
 * which fails only one call.
 */
export function findInvalidField(frame: object): string | undefined {
  const fields = checks.get((frame as { type: string }).type);
  if (fields === undefined) return undefined;
  for (const { name, isValid } of fields.required) {
    if (!isValid((frame as Record<string, unknown>)[name])) return name;
  }
  // Iterate over the fields of the frame, because most optional fields are absent, and reading each of them takes twice
  // as long.
  for (const name in frame) {
    const isValid = fields.optional.get(name);
    const value = (frame as Record<string, unknown>)[name];
    if (isValid !== undefined && value !== undefined && !isValid(value)) return name;
  }
  return undefined;
}

/** Returns whether an envelope can be sent. A `toJSON` method would change the envelope or its meta. */
function isSendableEnvelope(value: unknown): boolean {
  if (!isResponseEnvelope(value)) return false;
  const { toJSON, meta } = value as { toJSON?: unknown; meta: { toJSON?: unknown } };
  return typeof toJSON !== "function" && typeof meta.toJSON !== "function";
}
