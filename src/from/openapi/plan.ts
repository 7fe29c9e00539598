import type { TSchema } from "typebox";

/** Where a parameter stands in a request. `querystring` (3.2) is the whole query. */
export type ParameterLocation = "path" | "query" | "querystring" | "header" | "cookie";

/** How one declared parameter is read from the input and written to the wire. */
export interface ParameterPlan {
  /** The name on the wire. */
  name: string;
  /** The property of the input that holds its value; differs from `name` where a name stands twice. */
  argument: string;
  location: ParameterLocation;
  required: boolean;
  /** `simple`, `label`, `matrix`, `form`, `spaceDelimited`, `pipeDelimited`, `deepObject`, or `tabDelimited` and `multi` of Swagger 2. */
  style: string;
  explode: boolean;
  allowReserved: boolean;
  allowEmptyValue: boolean;
  /** Media type of a `content`-typed parameter; then style and explode do not apply. */
  contentType?: string;
  /** The raw schema in the document; tells numbers from text when a page link is read back. */
  schema?: unknown;
}

/** How one property of a form or multipart body is written. */
export interface EncodingPlan {
  contentType?: string;
  style?: string;
  explode?: boolean;
  allowReserved?: boolean;
  headers?: Record<string, unknown>;
}

/** One media type that a request body may have. */
export interface BodyMediaPlan {
  /** As declared, such as `application/json`. */
  mediaType: string;
  encoding: Record<string, EncodingPlan>;
  /** The raw schema in the document, to tell files from fields; absent when none is declared. */
  schema?: unknown;
}

/** The request body: always in `input.body` unless `argument` says otherwise. */
export interface BodyPlan {
  argument: string;
  required: boolean;
  /** In the document's order; the first that we can write is used unless the value or the config decides. */
  media: BodyMediaPlan[];
}

/** One response entry of the document: status `200`, `2XX` or `default`. */
export interface ResponsePlan {
  status: string;
  description: string;
  mediaTypes: string[];
}

/** One alternative of `security`: every named scheme of it is needed. An empty one means: no credential needed. */
export type SecurityAlternative = Array<{ scheme: string; scopes: string[] }>;

/** A security scheme of the document, in OpenAPI 3 form. */
export interface SecuritySchemePlan {
  type: string;
  /** Of `http`: `bearer`, `basic`, … in lower case. */
  scheme?: string;
  /** Of `apiKey`. */
  name?: string;
  in?: "header" | "query" | "cookie";
  /** Of `oauth2` with client credentials; only ever used when the operator configured it. */
  tokenUrl?: string;
}

/** What the handler of one operation needs to know to talk HTTP. Made by the document side, used by the wire side. */
export interface EndpointPlan {
  operationId: string;
  /** Upper case, such as `GET`. */
  method: string;
  /** The path template as declared, such as `/users/{id}`. */
  path: string;
  /** Where requests go, without a trailing slash, variables filled in. Its origin is the only one that gets credentials. */
  baseUrl: string;
  parameters: ParameterPlan[];
  body?: BodyPlan;
  responses: ResponsePlan[];
  /** Media types for `Accept`, most wanted first. */
  accept: string[];
  /** Set when the operation is the streaming one of its entry. */
  stream?: "sse" | "ndjson" | "json-seq";
  /**
   * Properties that an object body gets where the caller left them out: `{ stream: true }` for the streaming operation
   * of an entry that answers both ways and whose body declares a boolean `stream`.
   */
  bodyDefaults?: Readonly<Record<string, unknown>>;
  /** Empty when the document says nothing about security; one empty alternative when it says that nothing is needed. */
  security: SecurityAlternative[];
  securitySchemes: ReadonlyMap<string, SecuritySchemePlan>;
  /** Codes of declared errors by status: `404` → `HTTP_404`, `4XX` → `HTTP_4XX`. */
  errorCodes: ReadonlyMap<string, string>;
  idempotent: boolean;
  /** The operation's output schema, read only when needed. */
  readonly outputSchema: TSchema;
}
