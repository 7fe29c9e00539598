import { extendPointer, hasElement, unescapeToken } from "../internal/json-pointer.ts";
import { isObject, type JSONObject, setOwn } from "../internal/objects.ts";
import { type Kind, modelOf, type Shape } from "../schema/model.ts";

/** How a person edits a value. `json` is for all that has no other kind, and for values that do not fit the schema. */
export type FieldKind =
  | "text"
  | "multiline"
  | "number"
  | "switch"
  | "enum"
  | "date"
  | "time"
  | "date-time"
  | "bytes"
  | "null"
  | "object"
  | "map"
  | "list"
  | "tuple"
  | "union"
  | "json";

/** One place of a form: what is edited there, and where it is in the draft. The draft itself is one JSON value. */
export interface Field {
  /** JSON pointer into the draft. */
  readonly pointer: string;
  /** The title of its schema, or else the name of the property. */
  readonly label: string;
  /** Whether it must be set. Every other field may also be not set, which is not the same as an empty value or `null`. */
  readonly isRequired: boolean;
  /** What its values are: description, default, limits, values of an enum. */
  readonly shape: Shape;
}

/** Strings with more characters, or with several lines, have a field with several lines. */
const maxLineLength = 80;

/** Opens a form for a schema. Inner fields are read with {@link fieldsIn}, when they are shown. */
export function openForm(schema: unknown): Field {
  return toField(modelOf(schema).root, "", "", true);
}

/** Returns how a field is edited while the draft has this value there; `undefined` if it is not set. */
export function fieldKindOf({ shape }: Field, value: unknown): FieldKind {
  const kind = kindOf(shape, value);
  return value === undefined || fits(shape, kind, value) ? kind : "json";
}

/**
 * Returns the fields in a field, for the value that the draft has there: of objects the listed properties and those that the
 * value has besides, of lists and tuples the elements, of unions the field of one member at the same place.
 * @param choice - index of the member that the user chose. Without it, it is the first one that the value has the form of
 */
export function fieldsIn(field: Field, value: unknown, choice = choiceOf(field, value)): Field[] {
  const { shape, pointer, label, isRequired } = field;
  const at = (part: Shape, key: string | number, isNeeded: boolean) =>
    toField(part, extendPointer(pointer, key), String(key), isNeeded);
  switch (fieldKindOf(field, value)) {
    case "union":
      return shape.alternatives
        .slice(choice, choice + 1)
        .map((each) => toField(each.shape, pointer, label, isRequired));
    case "object":
    case "map": {
      const others = Object.keys(value ?? {}).filter((name) => !shape.properties.has(name));
      return [
        ...[...shape.properties].map(([name, property]) => at(property.shape, name, property.isRequired)),
        ...others.map((name) => at(shape.property(name), name, false)),
      ];
    }
    case "list":
    case "tuple": {
      const elements = Array.isArray(value) ? value : [];
      const length = Math.max(elements.length, shape.prefixLength);
      const required = Number(shape.limits["minItems"] ?? 0);
      return Array.from({ length }, (_, index) => at(shape.element(index), index, index < required));
    }
    default:
      return [];
  }
}

/**
 * Returns the index of the first member of a union that a value has the form of, or else of the first one that it may become
 * while it is filled in; otherwise -1.
 * @param preferred - index of the member that the user chose, which is returned if the value may become it
 */
export function choiceOf({ shape }: Field, value: unknown, preferred = -1): number {
  if (value === undefined) return -1;
  const mayBe = shape.alternatives.map((each) => mayBecome(each.shape, value));
  if (mayBe[preferred] === true) return preferred;
  const complete = shape.alternatives.findIndex((each) => each.shape.admits(value));
  return complete < 0 ? mayBe.indexOf(true) : complete;
}

/** Returns whether a value has a form, apart from properties that are still missing. */
function mayBecome(shape: Shape, value: unknown): boolean {
  if (shape.kind === "union") return shape.alternatives.some((each) => mayBecome(each.shape, value));
  if (shape.kind !== "object" && shape.kind !== "map") return shape.admits(value);
  if (!isObject(value)) return false;
  // Constants and enums tell members apart. Other values may still be typed.
  return [...shape.properties].every(
    ([name, { shape: part }]) => !Object.hasOwn(value, name) || part.values === undefined || part.admits(value[name]),
  );
}

/** Returns what each member of a union, or each value of an enum, is called: by title, value of the discriminator, or form. */
export function labelsOf({ shape }: Field): string[] {
  const { alternatives } = shape;
  if (shape.kind !== "union") {
    const names = new Map(alternatives.map(({ shape: part, name }) => [JSON.stringify(part.values?.[0]), name]));
    return (shape.values ?? []).map((value) => names.get(JSON.stringify(value)) ?? toLabel(value));
  }
  return alternatives.map(({ name, shape: part }) => name ?? describeForm(part));
}

/** Returns the value that a field has at first when the user sets it. It is empty, except for values without a choice. */
export function startValueOf({ shape }: Field): unknown {
  const [first] = shape.values ?? [];
  if (shape.values !== undefined) return first;
  if (shape.kind === "union") return startValueOf(toField(shape.alternatives[0]!.shape, "", "", true));
  const starts = { number: 0, switch: false, bytes: { base64: "" }, list: [], tuple: [], json: null };
  const kind = kindOf(shape, undefined);
  if (kind === "object" || kind === "map") return constantsOf(shape);
  return kind in starts ? starts[kind as keyof typeof starts] : "";
}

/** Parses what was typed into a field of kind `number`. Returns `undefined` for a number that JavaScript would round. */
export function parseNumber(text: string): number | undefined {
  if (!/^\s*-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?\s*$/.test(text)) return undefined;
  const value = Number(text);
  return Math.abs(value) > Number.MAX_SAFE_INTEGER ? undefined : value;
}

/**
 * Returns a copy of a draft with another value at a JSON pointer. `undefined` removes a property or an element. Objects on
 * the path that are missing are created. The parts that do not change are the same objects.
 */
export function writeDraft(draft: unknown, pointer: string, value: unknown): unknown {
  if (pointer === "") return value;
  const end = pointer.indexOf("/", 1);
  const key = unescapeToken(pointer.slice(1, end < 0 ? undefined : end));
  const inner =
    end < 0 ? value : writeDraft(hasElement(draft, key) ? draft[key] : undefined, pointer.slice(end), value);
  if (Array.isArray(draft)) return draft.toSpliced(Number(key), 1, ...(inner === undefined ? [] : [inner]));
  const copy: JSONObject = isObject(draft) ? { ...draft } : {};
  if (inner === undefined) delete copy[key];
  else setOwn(copy, key, inner);
  return copy;
}

function toField(shape: Shape, pointer: string, name: string, isRequired: boolean): Field {
  const title = shape.annotation("title");
  return { pointer, label: typeof title === "string" && title !== "" ? title : name, isRequired, shape };
}

/** The kinds of fields that are not named like the kinds of their shapes. */
const kindsOfShapes: Readonly<Partial<Record<Kind, FieldKind>>> = {
  const: "enum",
  array: "list",
  boolean: "switch",
  integer: "number",
  never: "json",
  unknown: "json",
  undefined: "json",
  bigint: "json",
};

/** @param value - the current value, which decides about the size of a text field */
function kindOf(shape: Shape, value: unknown): FieldKind {
  const { kind } = shape;
  if (kind !== "string") return kindsOfShapes[kind] ?? (kind as FieldKind);
  const format = shape.annotation("format");
  if (format === "date" || format === "time" || format === "date-time") return format;
  const isLong = typeof value === "string" && (value.length > maxLineLength || value.includes("\n"));
  return isLong || shape.annotation("contentMediaType") !== undefined ? "multiline" : "text";
}

/** Returns whether a field of this kind can show a value without losing anything. */
function fits(shape: Shape, kind: FieldKind, value: unknown): boolean {
  if (kind === "object" || kind === "map") return isObject(value);
  if (kind === "bytes") return isObject(value) && typeof value["base64"] === "string";
  if (kind === "union") return mayBecome(shape, value);
  return kind === "number" ? typeof value === "number" : shape.admits(value);
}

function toLabel(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Describes a shape that has no name by its constants, or else by its form: `string`, or `{ a, b }`. */
function describeForm(shape: Shape): string {
  const tags = Object.values(constantsOf(shape)).map(toLabel);
  if (shape.kind !== "object" || tags.length > 0) return tags.join(", ") || shape.kind;
  const names = [...shape.properties.keys()];
  return `{ ${[...names.slice(0, 3), ...(names.length > 3 ? ["…"] : [])].join(", ")} }`;
}

/** Returns the properties of an object that have only one value, by which programs tell the members of a union apart. */
function constantsOf(shape: Shape): JSONObject {
  const fixed = [...shape.properties].filter(([, part]) => part.isRequired && part.shape.values?.length === 1);
  return Object.fromEntries(fixed.map(([name, part]) => [name, part.shape.values![0]]));
}
