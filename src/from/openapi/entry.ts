import type { EncodingPlan, ParameterLocation } from "./plan.ts";
import type { Located } from "./references.ts";
import type { JSONObject } from "./values.ts";

/** One media type of a body or an answer. */
export interface MediaEntry {
  mediaType: string;
  schema?: Located;
  /** Of 3.2: the schema of each item of a stream. */
  itemSchema?: Located;
  encoding: Record<string, EncodingPlan>;
}

/** A declared parameter, in the words of OpenAPI 3. */
export interface ParameterEntry {
  name: string;
  location: ParameterLocation;
  pointer: string;
  required: boolean;
  style: string;
  explode: boolean;
  allowReserved: boolean;
  allowEmptyValue: boolean;
  contentType?: string;
  schema?: Located;
  description?: string;
  deprecated: boolean;
}

/** A declared body. */
export interface BodyEntry {
  pointer: string;
  required: boolean;
  description?: string;
  media: MediaEntry[];
}

/** A declared answer. */
export interface ResponseEntry {
  /** `200`, `2XX` or `default`. */
  status: string;
  description: string;
  media: MediaEntry[];
  /** The object in the document; many entries share one. */
  source: object;
}

/** One method of one path, read but not converted: the same for every version of OpenAPI. */
export interface Entry {
  /** Upper case. */
  method: string;
  path: string;
  pointer: string;
  operation: JSONObject;
  pathItem: JSONObject;
  parameters: ParameterEntry[];
  body?: BodyEntry;
  responses: ResponseEntry[];
  /** `servers`, the most specific that are declared. */
  servers: unknown[];
}

/** Hears what is odd in an entry but can be worked around. */
export type Warn = (where: string, reason: string) => void;
