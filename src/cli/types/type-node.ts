/** Assertions of a schema that TypeScript cannot express, such as `minLength`. The printer ignores them. */
export type Constraints = Readonly<Record<string, unknown>>;

/** A type as TypeScript sees it, read from a JSON Schema. Every value that the schema accepts has this type. */
export type TypeNode =
  | { readonly kind: "primitive"; readonly name: PrimitiveName; readonly constraints?: Constraints | undefined }
  | { readonly kind: "literal"; readonly value: unknown }
  | ArrayNode
  | ObjectNode
  | { readonly kind: "union" | "intersection"; readonly parts: readonly TypeNode[] }
  | { readonly kind: "reference"; readonly to: Definition };

/** The types without parts. */
export type PrimitiveName = "unknown" | "never" | "string" | "number" | "boolean" | "null" | "undefined" | "bigint";

/** An array; a tuple if it has `items`. */
export interface ArrayNode {
  readonly kind: "array";
  /** The types of the first elements. */
  readonly items: readonly TypeNode[];
  /** Number of `items` that every value has. */
  readonly required: number;
  /** The type of all further elements; `undefined` if there are none. */
  readonly rest: TypeNode | undefined;
  readonly constraints?: Constraints | undefined;
}

/** An object. */
export interface ObjectNode {
  readonly kind: "object";
  readonly properties: readonly Property[];
  /** The type of properties that are not listed, where the schema declares one. */
  readonly rest: TypeNode | undefined;
  /** Whether properties that are not listed are refused. */
  readonly isClosed: boolean;
  readonly constraints?: Constraints | undefined;
}

/** A property of an object. */
export interface Property {
  readonly name: string;
  readonly type: TypeNode;
  readonly isOptional: boolean;
  /** Text of the doc comment. */
  readonly docs?: string | undefined;
}

/** A named type that references resolve to. */
export interface Definition {
  /** The name in its document; after sharing, the identifier that is printed. */
  name: string;
  /** Set after the definition was created, because it may refer to itself. */
  type: TypeNode;
  /** Text of the doc comment. */
  docs?: string | undefined;
}

/** The type of all values. */
export const unknownType: TypeNode = { kind: "primitive", name: "unknown" };
/** The type without values. */
export const neverType: TypeNode = { kind: "primitive", name: "never" };

/** Returns whether a type is one of these primitives, without constraints. */
export function isPrimitive(type: TypeNode, name: PrimitiveName): boolean {
  return type.kind === "primitive" && type.name === name && type.constraints === undefined;
}

/** Returns a type that has the values of any of these types. */
export function unionOf(parts: readonly TypeNode[]): TypeNode {
  const members = distinct("union", parts).filter((part) => !isPrimitive(part, "never"));
  if (members.some((part) => isPrimitive(part, "unknown"))) return unknownType;
  return members.length > 1 ? { kind: "union", parts: members } : (members[0] ?? neverType);
}

/** Returns a type that has the values that all of these types have. */
export function intersectionOf(parts: readonly TypeNode[]): TypeNode {
  const members = distinct("intersection", parts).filter((part) => !isPrimitive(part, "unknown"));
  if (members.some((part) => isPrimitive(part, "never"))) return neverType;
  return members.length > 1 ? { kind: "intersection", parts: members } : (members[0] ?? unknownType);
}

/** Returns the parts, with those of nested unions or intersections, each once. */
function distinct(kind: "union" | "intersection", parts: readonly TypeNode[]): TypeNode[] {
  const found = new Map<unknown, TypeNode>();
  for (const part of parts.flatMap((each) => (each.kind === kind ? each.parts : [each]))) {
    // Composed types are compared by identity, which is cheap. A part that is printed twice does no harm.
    const key = part.kind === "reference" ? part.to : isSmall(part) ? JSON.stringify(part) : part;
    if (!found.has(key)) found.set(key, part);
  }
  return [...found.values()];
}

function isSmall(type: TypeNode): boolean {
  return type.kind === "primitive" || type.kind === "literal";
}

/** Calls `visit` for every direct part of a type. References have no parts. */
export function forEachPart(type: TypeNode, visit: (part: TypeNode, property?: string) => void): void {
  switch (type.kind) {
    case "array":
      for (const item of type.items) visit(item);
      if (type.rest !== undefined) visit(type.rest);
      break;
    case "object":
      for (const property of type.properties) visit(property.type, property.name);
      if (type.rest !== undefined) visit(type.rest);
      break;
    case "union":
    case "intersection":
      for (const part of type.parts) visit(part);
      break;
    default:
  }
}

/** Copies a type, whose direct parts are replaced. */
export function mapParts(type: TypeNode, map: (part: TypeNode) => TypeNode): TypeNode {
  switch (type.kind) {
    case "array":
      return { ...type, items: type.items.map(map), rest: type.rest && map(type.rest) };
    case "object": {
      const properties = type.properties.map((property) => ({ ...property, type: map(property.type) }));
      return { ...type, properties, rest: type.rest && map(type.rest) };
    }
    case "union":
      return unionOf(type.parts.map(map));
    case "intersection":
      return intersectionOf(type.parts.map(map));
    default:
      return type;
  }
}
