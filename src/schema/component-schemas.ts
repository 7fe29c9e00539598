import { escapeToken, unescapeToken } from "../internal/json-pointer.ts";
import { getOwn, isObject, setOwn } from "../internal/objects.ts";
import { decodePercent } from "../internal/urls.ts";
import { copySubschemas, type SchemaObject } from "./keywords.ts";

/** Beginning of the references to the schemas of an OpenAPI document. */
export const componentPrefix = "#/components/schemas/";

/** Keyword of a component with the components that were its `$defs`, by their original names. */
const definitionsKeyword = "x-alkdev-definitions";
/** Keyword of a component with the JSON of a schema that cannot be restored from the component itself. */
export const sourceKeyword = "x-alkdev-source";

/**
 * Moves the definitions of a component to components of their own, because generators of types cannot read a component
 * that only refers to its own definitions. Returns all components by name.
 * @param nameFor - returns the name of the component of a definition
 */
export function splitComponent(
  name: string,
  component: SchemaObject,
  nameFor: (definition: string) => string,
): Record<string, SchemaObject> {
  const { $defs, ...root } = component;
  if (typeof root["$ref"] !== "string" || !isObject($defs)) return { [name]: component };
  const names = new Map(Object.keys($defs).map((definition) => [definition, nameFor(definition)]));
  const own = `${componentPrefix}${name}/$defs/`;
  const move = (reference: string) => {
    if (!reference.startsWith(own)) return reference;
    const [token = "", ...rest] = reference.slice(own.length).split("/");
    const target = names.get(unescapeToken(token)) ?? names.get(unescapeToken(decodePercent(token) ?? token));
    return target === undefined ? reference : [componentPrefix + target, ...rest].join("/");
  };
  const definitions: SchemaObject = {};
  const components: Record<string, SchemaObject> = {};
  for (const [definition, target] of names) {
    components[target] = moveReferences($defs[definition], move) as SchemaObject;
    setOwn(definitions, definition, target);
  }
  return {
    [name]: { ...(moveReferences(root, move) as SchemaObject), [definitionsKeyword]: definitions },
    ...components,
  };
}

/** Restores the schema that a component of a document was written from. Throws for a malformed one. */
export function restoreComponent(components: SchemaObject, name: string): unknown {
  const component = getOwn(components, name);
  if (!isObject(component)) return component;
  const { [sourceKeyword]: source, [definitionsKeyword]: definitions, ...root } = component;
  if (typeof source === "string") return JSON.parse(source);
  const names = Object.entries(isObject(definitions) ? definitions : {});
  const moved = new Map(names.map(([definition, target]) => [target, `#/$defs/${escapeToken(definition)}`]));
  moved.set(name, "#");
  const move = (reference: string) => {
    if (!reference.startsWith(componentPrefix)) return reference;
    const [target = "", ...rest] = reference.slice(componentPrefix.length).split("/");
    const start = moved.get(target);
    return start === undefined ? reference : [start, ...rest].join("/");
  };
  const restored = moveReferences(root, move) as SchemaObject;
  if (names.length === 0) return restored;
  const $defs: SchemaObject = {};
  for (const [definition, target] of names) {
    setOwn($defs, definition, moveReferences(getOwn(components, String(target)), move));
  }
  return { ...restored, $defs };
}

/** Copies a schema whose references change. */
function moveReferences(schema: unknown, move: (reference: string) => string): unknown {
  if (!isObject(schema)) return schema;
  const copy = copySubschemas(schema, (part) => moveReferences(part, move));
  if (typeof copy["$ref"] === "string") copy["$ref"] = move(copy["$ref"]);
  return copy;
}
