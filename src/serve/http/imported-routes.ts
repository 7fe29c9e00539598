import { getOwn, isObject } from "../../internal/objects.ts";
import { quote } from "../../internal/text.ts";
import type { ServedOperation } from "../visible.ts";
import { InputMapping, type InputParameter, listProperties, toParameter } from "./parameters.ts";

/** The route of an operation in the API that it was imported from. */
export interface ImportedRoute {
  /** Method and path, as `http` of `defineOperation` has them. */
  readonly route: string;
  readonly input: InputMapping;
}

/** One parameter of an imported operation, as `_meta.openapi` describes it. */
interface Argument {
  readonly argument: string;
  readonly name: string;
  readonly in: string;
  /** Present if values are not written like those of this server. */
  readonly style?: string;
}

const isJSONType = /^application\/(?:[\w.+-]*\+)?json\s*(?:;|$)/i;

/**
 * Returns the route that an operation had in its OpenAPI document, below its namespace. Returns the reason if this server
 * reads such a request differently, and `undefined` if the operation was not imported from OpenAPI.
 */
export function toImportedRoute({ id, spec }: ServedOperation): ImportedRoute | string | undefined {
  const origin = getOwn(spec._meta, "openapi");
  if (!isObject(origin)) return undefined;
  const { method, path, body } = origin;
  const properties = listProperties(spec.inputSchema);
  if (properties === undefined) return "its input is not an object";
  const parameters: InputParameter[] = [];
  for (const { argument, name, in: location, style } of (origin["arguments"] as Argument[] | undefined) ?? []) {
    const property = properties.get(argument);
    if (location !== "path" && location !== "query") return `the parameter ${quote(name)} is in the ${location}`;
    const parameter = property && toParameter(location, name, property, argument);
    if (style !== undefined || parameter?.type === undefined) {
      return `the parameter ${quote(name)} is not a primitive value or a list of them in style "form"`;
    }
    parameters.push(parameter);
  }
  const content = properties.get("body");
  const isJSON = Array.isArray(body) && body.every((type) => isJSONType.test(String(type)));
  if ((body ?? content) !== undefined && (!isJSON || method === "GET")) return "its body is not only JSON";
  // Those in the path first, in its order.
  const position = ({ in: location, name }: InputParameter) =>
    location === "path" ? String(path).indexOf(`{${name}}`) : Number.MAX_SAFE_INTEGER;
  parameters.sort((one, other) => position(one) - position(other));
  const withoutContent = method === "GET" ? "none" : { rest: [] };
  return {
    route: `${method} /${encodeURIComponent(spec.namespace)}${path}`,
    input: new InputMapping(id, parameters, content === undefined ? withoutContent : { only: ["body", content] }),
  };
}
