import {
  array,
  boolean,
  type Field,
  number,
  type ObjectOf,
  object,
  oneOf,
  optional,
  record,
  string,
  unknown,
} from "../internal/shape.ts";
import {
  envelopeFields,
  errorJSONFields,
  type Identity,
  identityFields,
  isResponseEnvelope,
  type OperationSpec,
  type Progress,
  progressFields,
  type ResponseEnvelope,
} from "../operation/index.ts";

const maxIdLength = 256;
/** Namespace, dot and name. */
const maxOperationIdLength = 64 + 1 + 256;
const maxTokenLength = 64 * 1024;

/** Chosen by the caller, with at least 122 random bits. Two callers may by accident or malice use the same. */
const requestId = string({ minLength: 1, maxLength: maxIdLength });
const peerId = string({ minLength: 1, maxLength: maxIdLength });
const count = { isInteger: true, min: 0 };
/** Counts the workers that an idempotent request was sent to again because the one before was lost. Missing for the first. */
const attempt = optional(number({ ...count, description: "How often the request was sent again" }));

/**
 * Every field of every frame that travels, by type. The types below, the check of {@link findInvalidField} and the public
 * `CallEventSchema` follow from this table: a new field needs one line here.
 */
export const frameFields = {
  "call.requested": {
    type: oneOf(["call.requested"]),
    /** Identifies the request. */
    requestId,
    /** The full id of the operation, `namespace.name`. */
    operationId: string({ minLength: 1, maxLength: maxOperationIdLength }),
    /** What the operation is called with. */
    input: unknown(),
    /** The call whose handler made this one. */
    parentRequestId: optional(string({ maxLength: maxIdLength })),
    /** The first request that travelled of those that led to this one; missing when this is the first. */
    rootRequestId: optional(string({ maxLength: maxIdLength, description: "The first request that led to this one" })),
    /** How many calls stand above this one. A claim, and never a reason to allow more. Missing for 0. */
    depth: optional(number({ ...count, description: "How many calls stand above this one" })),
    /** Milliseconds left when this was sent. Clocks of two machines are never compared. */
    timeout: optional(
      number({
        min: Number.NEGATIVE_INFINITY,
        max: Number.POSITIVE_INFINITY,
        description: "Milliseconds left when it was sent",
      }),
    ),
    /** What `authenticate` of the server maps to an identity. */
    token: optional(string({ maxLength: maxTokenLength })),
    /** A claim. Believed only by a server that was configured to trust the bus. */
    identity: optional(object<Identity>(identityFields)),
    /** Passed on to the handler and its nested calls. */
    metadata: optional(record(unknown())),
    /** For subscriptions: how many values may be sent before `call.credited` allows more. Missing for one response. */
    credit: optional(number({ ...count, description: "For subscriptions: how many values may be sent at first" })),
    /**
     * For subscriptions: how many bytes of values, roughly, may be sent and not yet taken. One value may go beyond it. Values
     * count as taken in the order in which they were sent, as `call.credited` counts them. Missing for no limit.
     */
    creditBytes: optional(
      number({ ...count, min: 1, description: "For subscriptions: how many bytes may be sent and not yet taken" }),
    ),
    /** Milliseconds of the caller's own monotonic clock when this was sent. A claim, as everything in a frame. */
    sentAt: optional(number({ description: "Milliseconds of the caller's monotonic clock" })),
    /** How often the request was sent again. Missing for the first time. */
    attempt,
  },
  "call.responded": {
    type: oneOf(["call.responded"]),
    /** Identifies the request. */
    requestId,
    /** The result. */
    output: object<ResponseEnvelope>(envelopeFields, { isValid: isSendableEnvelope }),
    /** For subscriptions: counts the values from 0. */
    seq: optional(number({ ...count, description: "For subscriptions: counts from 0" })),
    /** For subscriptions: the consumer is to send `call.credited` as soon as it has taken this value. */
    creditDue: optional(boolean({ description: "For subscriptions: send call.credited with this value" })),
  },
  "call.progressed": {
    type: oneOf(["call.progressed"]),
    /** Identifies the request. */
    requestId,
    /** What the handler reported. */
    progress: object<Progress>(progressFields),
  },
  "call.credited": {
    type: oneOf(["call.credited"]),
    /** Identifies the request. */
    requestId,
    /** How many more values the consumer can take. */
    count: number({ ...count, min: 1 }),
  },
  "call.completed": {
    type: oneOf(["call.completed"]),
    /** Identifies the request. */
    requestId,
  },
  "call.aborted": {
    type: oneOf(["call.aborted"]),
    /** Identifies the request. */
    requestId,
    /** For the log. */
    reason: optional(string({ maxLength: maxTokenLength })),
    /** How often the request was sent again. Missing for the first time. */
    attempt,
  },
  "call.error": {
    type: oneOf(["call.error"]),
    /** Identifies the request. */
    requestId,
    ...errorJSONFields,
    /** How often the request was sent again. Missing for the first time. */
    attempt,
  },
  "peer.announced": {
    type: oneOf(["peer.announced"]),
    /** Who announces. */
    peerId,
    /** What it serves, in place of what it announced before. A spec is checked where it is registered, not here. */
    specs: array(object<OperationSpec>({})) as Field<readonly OperationSpec[], false>,
    /** Ids of operations that it serves too, whose specs are larger than a message may be; at most 20. */
    omitted: optional(array(string()) as Field<readonly string[]>),
  },
  "peer.left": {
    type: oneOf(["peer.left"]),
    /** Who left. */
    peerId,
  },
};

type Fields = typeof frameFields;

/** Asks for one run of an operation; `call.responded`, `call.completed` or `call.error` ends it. */
export interface CallRequested extends ObjectOf<Fields["call.requested"]> {
  /**
   * When that time is up by `performance.now()` of the process that has received this, if its transport knows: between
   * reading a request and running it, a process may be paused. Not sent.
   */
  expiresAt?: number | undefined;
  /** Whether a call above this one came from another process. Counts in process only: whatever travels is remote. */
  isRemote?: boolean | undefined;
}

/** One result. With `seq`, which counts from 0, one of many; without it the only one, and the end. */
export interface CallResponded extends ObjectOf<Fields["call.responded"]> {}

/** How far a call has come. */
export interface CallProgressed extends ObjectOf<Fields["call.progressed"]> {}

/** The consumer of a subscription can take `count` more values. */
export interface CallCredited extends ObjectOf<Fields["call.credited"]> {}

/** The producer of a subscription is done. */
export interface CallCompleted extends ObjectOf<Fields["call.completed"]> {}

/** The caller cancels: no reply will be read. Also what a transport sends to the server when the caller is gone. */
export interface CallAborted extends ObjectOf<Fields["call.aborted"]> {}

/** The call failed. */
export interface CallFailed extends ObjectOf<Fields["call.error"]> {}

/** A peer serves these operations. Takes the place of what it announced before. */
export interface PeerAnnounced extends ObjectOf<Fields["peer.announced"]> {}

/** A peer left, and what it served with it. */
export interface PeerLeft extends ObjectOf<Fields["peer.left"]> {}

/** What a caller sends after its `call.requested`. */
export type FollowUp = CallCredited | CallAborted;
/** What the server sends. */
export type ReplyFrame = CallResponded | CallProgressed | CallCompleted | CallFailed;
/** What peers report about themselves. */
export type PeerEvent = PeerAnnounced | PeerLeft;
/** Every frame about a call: objects that are distinguished by `type`. */
export type Frame = CallRequested | FollowUp | ReplyFrame;

/** What is checked of each type. */
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
 * The name of a field that is missing or invalid, if there is one. Frames of an unknown type have none. Both ends check: a
 * reader ends the link over a frame that it cannot accept, so an invalid value must fail where it is sent, and alone.
 */
export function findInvalidField(frame: object): string | undefined {
  const fields = checks.get((frame as { type: string }).type);
  if (fields === undefined) return undefined;
  for (const { name, isValid } of fields.required) {
    if (!isValid((frame as Record<string, unknown>)[name])) return name;
  }
  // By the names that the frame has: it lacks most of the optional fields, and reading each of those takes twice as long.
  for (const name in frame) {
    const isValid = fields.optional.get(name);
    const value = (frame as Record<string, unknown>)[name];
    if (isValid !== undefined && value !== undefined && !isValid(value)) return name;
  }
  return undefined;
}

/** With a `toJSON`, an envelope or its meta would become something else on its way. */
function isSendableEnvelope(value: unknown): boolean {
  if (!isResponseEnvelope(value)) return false;
  const { toJSON, meta } = value as { toJSON?: unknown; meta: { toJSON?: unknown } };
  return typeof toJSON !== "function" && typeof meta.toJSON !== "function";
}
