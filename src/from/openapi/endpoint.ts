import type { TSchema } from "typebox";
import type { JSONObject } from "../../internal/objects.ts";
import type { OutputChoice } from "./output-schema.ts";
import type { Located } from "./references.ts";

/** Reports a problem in the document that does not prevent the import. */
export type Warn = (where: string, reason: string) => void;

/** One method of one path, before its details are read. */
export interface MethodEntry {
  /** HTTP method in upper case, such as `GET`. */
  method: string;
  /** The path template as declared, such as `/users/{id}`. */
  path: string;
  pathItem: Located<JSONObject>;
  operation: Located<JSONObject>;
  /** Its location in `paths`, even if its path item is a reference. */
  pointer: string;
}

/** The declarations of one method, in the same form for every version of OpenAPI. Schemas are not converted. */
export interface Endpoint extends MethodEntry {
  /** Parameters that callers can pass. */
  parameters: EndpointParameter[];
  body?: EndpointBody;
  responses: EndpointResponse[];
  output: OutputChoice;
  /** The most specific declared `servers`. */
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
  /** The schema of each item of a stream (OpenAPI 3.2). */
  itemSchema?: Located;
}

/** A declared response. */
export interface EndpointResponse {
  /** `200`, `2XX` or `default`. */
  status: string;
  description: string;
  media: EndpointMedia[];
  /** The response object in the document. Endpoints may share it. */
  source: object;
}

/** The data that the handler of one operation uses to send requests and read responses. */
export interface EndpointPlan {
  operationId: string;
  /** HTTP method in upper case, such as `GET`. */
  method: string;
  /** The path template as declared, such as `/users/{id}`. */
  path: string;
  /**
   * Base URL of requests, without a trailing slash and with variables filled in. Only its origin receives credentials.
   */
  baseUrl: string;
  parameters: ParameterPlan[];
  body?: BodyPlan;
  /** Whether a response is declared as JSON. A response without a content type is then read as JSON. */
  declaresJSON: boolean;
  /** Media types for `Accept`, preferred first. */
  accept: string[];
  /** Format of the stream. Set if this is the streaming operation of its endpoint. */
  stream?: "sse" | "ndjson" | "json-seq";
  /**
   * Default properties of an object body. They are `{ stream: true }` for the streaming operation of an endpoint that
   * also has a single response and whose body declares a boolean `stream`.
   */
  bodyDefaults?: Readonly<Record<string, unknown>>;
  /**
   * Alternative security requirements. Empty if the document does not declare security. Contains one empty alternative
   * if it declares that no credential is required.
   */
  security: SecurityAlternative[];
  securitySchemes: ReadonlyMap<string, SecuritySchemePlan>;
  /** Codes of declared errors by status: `404` → `HTTP_404`, `4XX` → `HTTP_4XX`. */
  errorCodes: ReadonlyMap<string, string>;
  idempotent: boolean;
  /**
   * Whether a trusted server of this package runs the operation: it receives the input as the body, and sends envelopes
   * and problem details.
   */
  isOperation?: boolean;
  /** Whether the data of each event of a stream is JSON, whatever its schema is. */
  hasJSONEvents?: boolean;
  /** The operation's output schema, created on first access. */
  readonly outputSchema: TSchema;
}

/** Location of a parameter in a request. `querystring` (3.2) is the whole query. */
export type ParameterLocation = "path" | "query" | "querystring" | "header" | "cookie";

/** Describes how one parameter is read from the input and written to the request. */
export interface ParameterPlan<Schema = unknown> {
  /** The name in the request. */
  name: string;
  /** The input property with its value. Differs from `name` if a name is declared twice. */
  argument: string;
  location: ParameterLocation;
  required: boolean;
  /**
   * `simple`, `label`, `matrix`, `form`, `spaceDelimited`, `pipeDelimited`, `deepObject`, or `tabDelimited` and `multi`
   * of Swagger 2.
   */
  style: string;
  explode: boolean;
  allowReserved: boolean;
  allowEmptyValue: boolean;
  /** Media type of a parameter with `content`. Style and explode do not apply to it. */
  contentType?: string;
  /** The schema in the document. Distinguishes numbers from strings when a page link is read. */
  schema?: Schema;
}

/** Describes how one property of a form or multipart body is written. */
export interface EncodingPlan {
  contentType?: string;
  style?: string;
  explode?: boolean;
  allowReserved?: boolean;
  headers?: Record<string, unknown>;
}

/** One media type that a request body may have. */
export interface BodyMediaPlan<Schema = unknown> {
  /** Declared media type, such as `application/json`. */
  mediaType: string;
  encoding: Record<string, EncodingPlan>;
  /** The schema in the document, to distinguish files from fields. Absent if none is declared. */
  schema?: Schema;
}

/** The request body. */
export interface BodyPlan {
  /** The input property with the body. */
  argument: string;
  required: boolean;
  /** Media types in the document's order. The first usable one is the default. */
  media: BodyMediaPlan[];
}

/** One alternative of `security`. All named schemes are required. An empty alternative requires no credential. */
export type SecurityAlternative = Array<{ scheme: string; scopes: string[] }>;

/** A security scheme of the document, in OpenAPI 3 form. */
export interface SecuritySchemePlan {
  type: string;
  /** Scheme of type `http` in lower case, such as `bearer` or `basic`. */
  scheme?: string;
  /** Name of the header, query parameter or cookie of type `apiKey`. */
  name?: string;
  in?: "header" | "query" | "cookie";
  /** Token URL of type `oauth2` with client credentials. Used only if the operator configured it. */
  tokenUrl?: string;
}
