import { logger } from "../internal/log.ts";
import { redact } from "../internal/secrets.ts";
import { CallError, credentialExpired, credentialRevoked, isCallError, mapError } from "../operation/index.ts";
import type { Credentials } from "./authenticator.ts";
import type { CredentialEnd } from "./credential-watches.ts";
import type { GateRefusal } from "./gate.ts";

const log = logger("serve");

const notStarted = { retryable: false, mayHaveRun: false } as const;

/** The error with which a subscription ends when its credentials end. */
export function credentialEnded(operationId: string, reason: CredentialEnd): CallError {
  return reason === "expired" ? credentialExpired(operationId, true) : credentialRevoked(operationId);
}

function denied(message: string): CallError {
  return new CallError("ACCESS_DENIED", message, undefined, notStarted);
}

function forbidden(message: string): GateRefusal {
  return { kind: "refusal", status: 403, error: denied(message), headers: {} };
}

/** A web page may have made its name resolve to this machine (DNS rebinding). */
export function foreignHost(): GateRefusal {
  return forbidden(
    "The Host header does not name this machine. Without authentication, the server responds only to requests such as http://localhost.",
  );
}

/** A web page sent the request on behalf of its visitor. */
export function foreignPage(): GateRefusal {
  return forbidden(
    "Requests from web pages of other origins are refused. Allow the origin with the option cors of the server.",
  );
}

/** The `Authorization` header cannot be read. */
export function malformedToken(): CallError {
  return denied("The Authorization header is malformed or repeated. Send one header: Authorization: Bearer <token>.");
}

/** The reason to refuse a result of `authenticate`. */
export function toDenial(result: unknown, expiresAt: number): CallError {
  if (result === undefined) return denied("The server does not accept these credentials. Check the token or key.");
  if (expiresAt <= Date.now()) return denied("The credentials have expired. Authenticate again.");
  log.error(
    "authenticate returned a value that is not an identity. Return an object with id and scopes, or undefined.",
  );
  return denied("The credentials were refused.");
}

/** Returns the error for the caller. The message of an error that is not a `CallError` stays on this machine. */
export function toPublicError(error: unknown, { token }: Credentials): CallError {
  if (isCallError(error)) {
    const { code, message, retryable } = error;
    if (code === "UNAVAILABLE") return new CallError(code, message, undefined, { retryable, mayHaveRun: false });
    return denied(message);
  }
  const reason = redact(mapError(error).message, token === undefined ? [] : [token]);
  log.warn("authenticate refused a caller: {reason}", { reason });
  return denied("The credentials were refused.");
}
