import type { TSchema } from "typebox";
import type { JSONObject } from "../../internal/objects.ts";
import type { OutputChoice } from "./output-schema.ts";
import type { Located } from "./references.ts";

/** Reports a problem of the document that can be worked around. */
export type Warn = (where: string, reason: string) => void;

/** One method of one path, found but not read. */
export interface MethodEntry {
  /** Upper case, such as `GET`. */
  method: string;
  /** The path template as declared, such as `/users/{id}`. */
  path: string;
  pathItem: Located<JSONObject>;
  operation: Located<JSONObject>;
  /** Where it is in `paths`, also when its path item is a reference. */
  pointer: string;
}

/** Everything that the document declares about one method, the same for every version of OpenAPI. Schemas are not converted. */
export interface Endpoint extends MethodEntry {
  /** Those that callers can pass. */
  parameters: EndpointParameter[];
  body?: EndpointBody;
  responses: EndpointResponse[];
  output: OutputChoice;
  /** `servers`, the most specific that are declared. */
  servers: unknown[];
}

/** A declared parameter. */
export interface EndpointParameter extends ParameterPlan<Located> {
  pointer: string;
  description?: string;
  deprecated: boolean;
}

/** A declared request body. */
export interface EndpointBody {
  pointer: string;
  required: boolean;
  description?: string;
  media: EndpointMedia[];
}

/** One media type of a body or a response. */
export interface EndpointMedia extends BodyMediaPlan<Located> {
  /** Of 3.2: the schema of each item of a stream. */
  itemSchema?: Located;
}

/** A declared response. */
export interface EndpointResponse {
  /** `200`, `2XX` or `default`. */
  status: string;
  description: string;
  media: EndpointMedia[];
  /** The object in the document; many endpoints share one. */
  source: object;
}

/** Everything that the handler of one operation needs to send requests and read responses. */
export interface EndpointPlan {
  operationId: string;
  /** Upper case, such as `GET`. */
  method: string;
  /** The path template as declared, such as `/users/{id}`. */
  path: string;
  /** Where requests go, without a trailing slash, variables filled in. Only its origin receives credentials. */
  baseUrl: string;
  parameters: ParameterPlan[];
  body?: BodyPlan;
  /** Whether a response is declared as JSON, so that one without a content type is read as JSON. */
  declaresJSON: boolean;
  /** Media types for `Accept`, preferred first. */
  accept: string[];
  /** Set when the operation is the streaming one of its endpoint. */
  stream?: "sse" | "ndjson" | "json-seq";
  /**
   * Properties that an object body gets where the caller omitted them: `{ stream: true }` for the streaming operation
   * of an endpoint that also has a single response and whose body declares a boolean `stream`.
   */
  bodyDefaults?: Readonly<Record<string, unknown>>;
  /** Empty when the document does not mention security; one empty alternative when it declares that nothing is needed. */
  security: SecurityAlternative[];
  securitySchemes: ReadonlyMap<string, SecuritySchemePlan>;
  /** Codes of declared errors by status: `404` → `HTTP_404`, `4XX` → `HTTP_4XX`. */
  errorCodes: ReadonlyMap<string, string>;
  idempotent: boolean;
  /** The operation's output schema, read only when needed. */
  readonly outputSchema: TSchema;
}

/** Where a parameter is in a request. `querystring` (3.2) is the whole query. */
export type ParameterLocation = "path" | "query" | "querystring" | "header" | "cookie";

/** How one parameter is read from the input and written to the request. */
export interface ParameterPlan<Schema = unknown> {
  /** The name in the request. */
  name: string;
  /** The property of the input that has its value; differs from `name` where a name is declared twice. */
  argument: string;
  location: ParameterLocation;
  required: boolean;
  /** `simple`, `label`, `matrix`, `form`, `spaceDelimited`, `pipeDelimited`, `deepObject`, or `tabDelimited` and `multi` of Swagger 2. */
  style: string;
  explode: boolean;
  allowReserved: boolean;
  allowEmptyValue: boolean;
  /** Media type of a parameter with `content`; style and explode do not apply then. */
  contentType?: string;
  /** The schema in the document; distinguishes numbers from strings when a page link is read back. */
  schema?: Schema;
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
export interface BodyMediaPlan<Schema = unknown> {
  /** As declared, such as `application/json`. */
  mediaType: string;
  encoding: Record<string, EncodingPlan>;
  /** The schema in the document, to distinguish files from fields; absent when none is declared. */
  schema?: Schema;
}

/** The request body. */
export interface BodyPlan {
  /** The property of the input that has it. */
  argument: string;
  required: boolean;
  /** In the document's order; the first that can be written is used unless the value or the caller decides. */
  media: BodyMediaPlan[];
}

/** One alternative of `security`: every named scheme is needed. An empty one needs no credential. */
export type SecurityAlternative = Array<{ scheme: string; scopes: string[] }>;

/** A security scheme of the document, in OpenAPI 3 form. */
export interface SecuritySchemePlan {
  type: string;
  /** Of `http`: `bearer`, `basic`, … in lower case. */
  scheme?: string;
  /** Of `apiKey`. */
  name?: string;
  in?: "header" | "query" | "cookie";
  /** Of `oauth2` with client credentials; used only when the operator configured it. */
  tokenUrl?: string;
}
