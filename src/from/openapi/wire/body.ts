import { fromLooseBase64 } from "../../../internal/base64.ts";
import type { BodyMediaPlan, BodyPlan } from "../endpoint.ts";
import { refused } from "../errors.ts";
import { toJSON } from "./encode.ts";
import { essence, isJSON, isText, matchesRange } from "./media-type.ts";
import { isBase64File, isBinary, isWellFormed, loneSurrogate, toMultipart } from "./multipart.ts";
import { isMembers, toForm } from "./style.ts";

/** A request body ready for `fetch`. */
export interface EncodedBody {
  body: BodyInit;
  /** Absent if the platform sets it, or if the body has none. */
  contentType?: string;
  /** Whether it can be sent a second time. A stream cannot. */
  replayable: boolean;
}

/** Writes a value as the body. Asynchronous only for multipart. */
export type BodyWriter = (value: unknown, wanted?: string) => EncodedBody | Promise<EncodedBody>;

type Kind = "json" | "form" | "multipart" | "text" | "binary" | "any";

function kindOf(mediaType: string): Kind {
  const type = essence(mediaType);
  if (type === "*/*" || type === "application/*") return "any";
  if (isJSON(type)) return "json";
  if (type === "application/x-www-form-urlencoded") return "form";
  if (type.startsWith("multipart/")) return "multipart";
  return isText(type) ? "text" : "binary";
}

/**
 * Compiles how a body is written. It uses the media type `wanted`, or else the first that can represent the value: a
 * binary or multipart type for binary values, multipart for objects that contain files.
 */
export function compileBody(operationId: string, plan: BodyPlan): BodyWriter {
  const declared = plan.media.length === 0 ? [{ mediaType: "application/json", encoding: {} }] : plan.media;
  const media = declared.map((entry) => ({ ...entry, kind: kindOf(entry.mediaType) }));

  return (value, wanted) => {
    const entry = choose(value, wanted);
    try {
      return write(value, entry, entry.kind);
    } catch (error) {
      throw toRefusal(error);
    }
  };

  function choose(value: unknown, wanted: string | undefined): (typeof media)[number] {
    const named = wanted === undefined ? undefined : media.find(({ mediaType }) => matchesRange(wanted, mediaType));
    if (wanted !== undefined && named === undefined) {
      throw refused(operationId, plan.argument, "the requested content type is not declared");
    }
    const chosen = named ?? (media.length === 1 ? media[0] : media.find(({ kind }) => canHold(kind, value)));
    if (chosen === undefined) throw refused(operationId, plan.argument, `it must be one of ${listMedia(media)}`);
    return chosen;
  }

  function write(
    value: unknown,
    { mediaType, encoding }: BodyMediaPlan,
    kind: Kind,
  ): EncodedBody | Promise<EncodedBody> {
    const contentType = essence(mediaType);
    switch (kind) {
      case "json":
        return { body: toJSON(value), contentType: mediaType, replayable: true };
      case "form":
        if (value instanceof URLSearchParams)
          return { body: value.toString(), contentType: mediaType, replayable: true };
        if (!isMembers(value)) throw new TypeError("must be an object to be sent as a form");
        return { body: toForm(value, encoding), contentType: mediaType, replayable: true };
      case "multipart":
        if (!isMembers(value) && !(value instanceof FormData) && !Array.isArray(value)) {
          throw new TypeError("must be an object to be sent as multipart");
        }
        return toMultipart(value, mediaType, encoding).then(
          (multipart) => ({ ...multipart, replayable: true }),
          (error: unknown) => Promise.reject(toRefusal(error)),
        );
      case "text":
        if (isBinary(value)) return toBinary(value, mediaType);
        if (typeof value === "object") throw new TypeError(`must be a string to be sent as ${contentType}`);
        return { body: toUTF8(String(value)), contentType: mediaType, replayable: true };
      case "any":
        if (isBinary(value) || isBase64File(value) || typeof value === "string") return toBinary(value, mediaType);
        return { body: toJSON(value), contentType: "application/json", replayable: true };
      default:
        return toBinary(value, mediaType);
    }
  }

  /** Converts an error of a writer. Messages of the engine are replaced, because they may contain the value. */
  function toRefusal(error: unknown): Error {
    const known = error instanceof TypeError && /^(?:must|contains) /.test(error.message);
    return refused(operationId, plan.argument, `it ${known ? error.message : "cannot be converted to a string"}`);
  }
}

/** Encodes a string. Throws for a lone surrogate, which an encoder would replace. */
function toUTF8(text: string): string {
  if (!isWellFormed(text)) throw new TypeError(loneSurrogate);
  return text;
}

function toBinary(value: unknown, mediaType: string): EncodedBody {
  if (isBase64File(value)) {
    const body = fromLooseBase64(value.base64);
    if (body === undefined) throw new TypeError("contains a file whose base64 is not valid");
    return { body, contentType: concreteType(mediaType, value.type ?? ""), replayable: true };
  }
  if (isBinary(value)) {
    const contentType = concreteType(mediaType, value instanceof Blob ? value.type : "");
    return { body: value as BodyInit, contentType, replayable: !(value instanceof ReadableStream) };
  }
  if (typeof value === "string") {
    return { body: toUTF8(value), contentType: concreteType(mediaType, "text/plain"), replayable: true };
  }
  throw new TypeError("must be binary: an ArrayBuffer, typed array, Blob, stream, string or { base64 }");
}

function concreteType(declared: string, own: string): string {
  if (!declared.includes("*")) return declared;
  return own !== "" && matchesRange(own, declared) ? own : "application/octet-stream";
}

function canHold(kind: Kind, value: unknown): boolean {
  const binary = isBinary(value);
  switch (kind) {
    case "json":
      return !binary && !(value instanceof FormData) && !(value instanceof URLSearchParams) && !holdsFile(value);
    case "form":
      return value instanceof URLSearchParams || (isMembers(value) && !holdsFile(value));
    case "multipart":
      return value instanceof FormData || isMembers(value);
    case "text":
      return typeof value === "string";
    case "any":
      return !(value instanceof FormData) && !holdsFile(value);
    default:
      return binary || isBase64File(value) || typeof value === "string";
  }
}

function holdsFile(value: unknown): boolean {
  const isFile = (item: unknown) => isBinary(item) || isBase64File(item);
  if (isBase64File(value)) return true;
  if (!isMembers(value)) return false;
  return Object.values(value).some((member) => (Array.isArray(member) ? member.some(isFile) : isFile(member)));
}

function listMedia(media: BodyMediaPlan[]): string {
  return media.map(({ mediaType }) => mediaType).join(", ");
}
