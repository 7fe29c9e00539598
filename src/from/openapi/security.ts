import { extendPointer } from "../../internal/json-pointer.ts";
import { getOwn, isObject, type JSONObject } from "../../internal/objects.ts";
import { quote } from "../../internal/text.ts";
import type { OpenAPIDocument } from "./document.ts";
import type { SecurityAlternative, SecuritySchemePlan, Warn } from "./endpoint.ts";
import { ReferenceProblem } from "./references.ts";
import { ownList, ownObject, ownString, ownStrings } from "./values.ts";

/** Reads every security scheme of a document, in OpenAPI 3 form. URLs in them are never fetched. */
export function readSecuritySchemes(document: OpenAPIDocument, warn: Warn): ReadonlyMap<string, SecuritySchemePlan> {
  const isSwagger2 = document.version === "2.0";
  const pointer = isSwagger2 ? "#/securityDefinitions" : "#/components/securitySchemes";
  const holder = isSwagger2 ? document.root : ownObject(document.root, "components");
  const schemes = new Map<string, SecuritySchemePlan>();
  for (const [name, value] of Object.entries(ownObject(holder, pointer.slice(pointer.lastIndexOf("/") + 1)) ?? {})) {
    const where = extendPointer(pointer, name);
    try {
      const located = document.references.deref({ value, pointer: where, base: "" });
      const scheme = isObject(located.value) ? readScheme(located.value) : undefined;
      if (scheme !== undefined) schemes.set(name, scheme);
      else warn(where, "The security scheme is not supported and is ignored.");
    } catch (error) {
      if (!(error instanceof ReferenceProblem)) throw error;
      warn(where, error.message);
    }
  }
  return schemes;
}

function readScheme(scheme: JSONObject): SecuritySchemePlan | undefined {
  const type = ownString(scheme, "type");
  switch (type) {
    case undefined:
      return undefined;
    case "basic":
      return { type: "http", scheme: "basic" };
    case "http":
      return { type, scheme: ownString(scheme, "scheme")?.toLowerCase() };
    case "apiKey": {
      const place = getOwn(scheme, "in");
      const name = ownString(scheme, "name");
      if (name === undefined || (place !== "header" && place !== "query" && place !== "cookie")) return undefined;
      return { type, name, in: place };
    }
    case "oauth2": {
      const flow = ownObject(ownObject(scheme, "flows"), "clientCredentials");
      const isApplication = getOwn(scheme, "flow") === "application";
      return {
        type,
        tokenUrl: ownString(flow, "tokenUrl") ?? (isApplication ? ownString(scheme, "tokenUrl") : undefined),
      };
    }
    default:
      return { type };
  }
}

/**
 * Returns the security requirements of an operation: its own `security`, or that of the document. Returns an empty list
 * if none is declared, and one empty alternative for a declared `[]`.
 */
export function readSecurity(
  document: OpenAPIDocument,
  operation: JSONObject,
  schemes: ReadonlyMap<string, SecuritySchemePlan>,
  pointer: string,
  warn: Warn,
): SecurityAlternative[] {
  const holder = Array.isArray(getOwn(operation, "security")) ? operation : document.root;
  if (!Array.isArray(getOwn(holder, "security"))) return [];
  const alternatives = ownList(holder, "security").filter(isObject);
  if (alternatives.length === 0) return [[]];
  const known: SecurityAlternative[] = [];
  for (const alternative of alternatives) {
    const missing = Object.keys(alternative).filter((name) => !schemes.has(name));
    if (missing.length > 0) {
      const where = holder === operation ? extendPointer(pointer, "security") : "#/security";
      warn(where, `The security scheme ${quote(missing[0]!)} is not declared. The alternative is ignored.`);
      continue;
    }
    known.push(Object.keys(alternative).map((scheme) => ({ scheme, scopes: ownStrings(alternative, scheme) })));
  }
  return known;
}
