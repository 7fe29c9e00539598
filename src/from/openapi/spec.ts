/** A parameter as a document has it. */
export interface OpenAPIParameter {
  name?: string;
  /** `path`, `query`, `querystring`, `header` or `cookie`; in Swagger 2 also `body` and `formData`. */
  in?: string;
  required?: boolean;
  description?: string;
  schema?: unknown;
  $ref?: string;
  [key: string]: unknown;
}

/** A method of a path as a document has it. */
export interface OpenAPIOperation {
  operationId?: string;
  summary?: string;
  description?: string;
  tags?: string[];
  deprecated?: boolean;
  parameters?: OpenAPIParameter[];
  requestBody?: unknown;
  responses?: Record<string, unknown>;
  security?: Array<Record<string, string[]>>;
  servers?: unknown[];
  [key: string]: unknown;
}

/** An OpenAPI document, as parsed from JSON or YAML. Nothing about it is taken for granted when it is read. */
export interface OpenAPISpec {
  /** Of OpenAPI 3, such as `3.1.0`. */
  openapi?: string;
  /** Of Swagger 2: `2.0`. */
  swagger?: string;
  info?: { title?: string; version?: string; [key: string]: unknown };
  paths?: Record<string, unknown>;
  components?: Record<string, unknown>;
  servers?: unknown[];
  [key: string]: unknown;
}
