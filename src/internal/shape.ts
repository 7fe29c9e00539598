import { isObject, type JSONObject } from "./objects.ts";

/** The fields of an object, by name. Types, checks, copies and schemas of this package are derived from such tables. */
export type Shape = { readonly [name: string]: Field };

/** Options of every field. */
export interface FieldOptions {
  /** The requirement, to complete "`/path` …". @default depends on the kind */
  message?: string;
  /** Description in the JSON Schema. */
  description?: string;
  /** Whether a getter is not read by checks and copies, because the value is created when it is first needed. */
  isLazy?: boolean;
  /** Whether the field is never sent to peers or published. */
  isPrivate?: boolean;
}

/** One field. `T` is the type of its values. */
export type Field<T = unknown, Optional extends boolean = boolean> = FieldOptions & {
  /** Whether the field may be missing. */
  readonly isOptional?: Optional;
  /**
   * Returns whether the field accepts a value. Checks only the value itself and the items of a list, not the fields of
   * objects in it. Not called for `undefined` in an optional field.
   */
  readonly isValid: (value: unknown) => boolean;
  /** The type of the values; never set. A function, because an optional property of type `T` would add `undefined`. */
  readonly "~type"?: () => T;
} & (
    | { readonly kind: "string"; readonly minLength: number; readonly maxLength: number; readonly pattern?: RegExp }
    | { readonly kind: "number"; readonly isInteger: boolean; readonly min: number; readonly max: number }
    | { readonly kind: "boolean" | "unknown" | "schema" }
    | { readonly kind: "enum"; readonly values: readonly string[] }
    | { readonly kind: "array" | "record"; readonly item: Field }
    | { readonly kind: "object"; readonly shape: Shape }
    | { readonly kind: "union"; readonly shapes: readonly Shape[] }
  );

/** Names of the fields that may be missing. */
type OptionalNames<S> = { [Name in keyof S]: S[Name] extends { isOptional: true } ? Name : never }[keyof S];
type TypeOf<F> = F extends { readonly "~type"?: (() => infer T) | undefined } ? T : never;

/** Resolves an intersection to one object type. */
type Flatten<T> = { [Name in keyof T]: T[Name] };

/** The type of the objects that a shape describes. Comments on its fields become those of the type's members. */
export type ObjectOf<S> = Flatten<
  {
    -readonly [Name in keyof Omit<S, OptionalNames<S>>]: TypeOf<S[Name & keyof S]>;
  } & {
    -readonly [Name in keyof Pick<S, OptionalNames<S>>]?: TypeOf<S[Name]>;
  }
>;

/** The union of the object types of several shapes. */
export type UnionOf<S> = S extends Shape ? ObjectOf<S> : never;

type Required<T> = Field<T, false>;

/** A string of some length, counted in UTF-16 code units. */
export function string(
  options: FieldOptions & { minLength?: number; maxLength?: number; pattern?: RegExp } = {},
): Required<string> {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern } = options;
  const hasLength = (value: unknown): value is string =>
    typeof value === "string" && value.length >= minLength && value.length <= maxLength;
  const isValid = pattern === undefined ? hasLength : (value: unknown) => hasLength(value) && pattern.test(value);
  return { kind: "string", ...options, minLength, maxLength, isValid };
}

/** A finite number, unless the range includes infinity. Never `NaN`. */
export function number(
  options: FieldOptions & { isInteger?: boolean; min?: number; max?: number } = {},
): Required<number> {
  const { isInteger = false, min = -Number.MAX_VALUE, max = Number.MAX_VALUE } = options;
  const isValid = (value: unknown) =>
    typeof value === "number" && value >= min && value <= max && (!isInteger || Number.isSafeInteger(value));
  return { kind: "number", ...options, isInteger, min, max, isValid };
}

/** `true` or `false`. */
export function boolean(options: FieldOptions = {}): Required<boolean> {
  return { kind: "boolean", ...options, isValid: (value) => typeof value === "boolean" };
}

/** One of some strings. */
export function oneOf<const T extends string>(values: readonly T[], options: FieldOptions = {}): Required<T> {
  return { kind: "enum", values, ...options, isValid: (value) => values.includes(value as T) };
}

/** Any value, including `undefined`, which JSON drops. */
export function unknown(options: FieldOptions = {}): Required<unknown> {
  return { kind: "unknown", ...options, isValid: () => true };
}

/** A JSON Schema. Only its presence is checked, because sources create schemas when they are first read. */
export function schema<T>(options: FieldOptions = {}): Required<T> {
  return { kind: "schema", isLazy: true, ...options, isValid: () => true };
}

/** A list of values of one kind. */
export function array<T>(item: Field<T>, options: FieldOptions = {}): Required<T[]> {
  const isValid = (value: unknown) => Array.isArray(value) && value.every(item.isValid);
  return { kind: "array", item, ...options, isValid };
}

/** An object with the fields of a shape, and maybe others. */
export function object<T>(shape: Shape, options: FieldOptions & Partial<Pick<Field, "isValid">> = {}): Required<T> {
  return { kind: "object", shape, isValid: isJSONObject, ...options };
}

/** An object whose values are all of one kind, under any name. */
export function record<T>(item: Field<T>, options: FieldOptions = {}): Required<Record<string, T>> {
  return { kind: "record", item, ...options, isValid: isJSONObject };
}

/** An object of one of several shapes. */
export function union<T>(shapes: readonly Shape[], options: FieldOptions = {}): Required<T> {
  return { kind: "union", shapes, ...options, isValid: isJSONObject };
}

/** A field that may be missing. */
export function optional<T>(field: Field<T>): Field<T, true> & { isOptional: true } {
  return { ...field, isOptional: true };
}

/** Returns whether a value is an object, and also after JSON. */
export function isJSONObject(value: unknown): value is JSONObject {
  // `toJSON` could convert the object to another value.
  return isObject(value) && typeof value["toJSON"] !== "function";
}

/** A value that a shape does not allow. */
export interface ShapeProblem {
  /** JSON pointer to the value. */
  path: string;
  /** The requirement that the value violates. */
  message: string;
}

/** Lists every field, at any depth, that is missing or invalid. Reads no getter of a lazy field. */
export function findProblems(shape: Shape, value: JSONObject): ShapeProblem[] {
  const problems: ShapeProblem[] = [];
  addProblems(problems, shape, value, "");
  return problems;
}

function addProblems(problems: ShapeProblem[], shape: Shape, value: JSONObject, path: string): void {
  const fields = fieldsOf(shape);
  for (let index = 0; index < fields.length; index++) {
    const { name, field, kind, isOptional, isLazy } = fields[index]!;
    if (kind === "schema") {
      if (!(name in value)) problems.push({ path: `${path}/${name}`, message: describe(field) });
    } else if (!isLazy || !hasGetter(value, name)) {
      const held = value[name];
      if (held !== undefined || !isOptional) addFieldProblems(problems, field, held, path, name);
    }
  }
}

function addFieldProblems(problems: ShapeProblem[], field: Field, value: unknown, parent: string, key: string): void {
  if (field.kind === "array" && field.item.kind === "object" && Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      addFieldProblems(problems, field.item, item, `${parent}/${key}`, String(index));
    }
  } else if (!field.isValid(value)) {
    const message = `${value === undefined ? "is missing and " : ""}${describe(field)}`;
    problems.push({ path: `${parent}/${key}`, message });
  } else if (field.kind === "object") {
    addProblems(problems, field.shape, value as JSONObject, `${parent}/${key}`);
  }
}

/** A field with its name. Objects of one shape, because registering thousands of operations reads them often. */
interface NamedField {
  readonly name: string;
  readonly field: Field;
  readonly kind: Field["kind"];
  readonly isOptional: boolean;
  readonly isLazy: boolean;
}

const fieldLists = new WeakMap<Shape, readonly NamedField[]>();

/** Returns the fields of a shape as a list, which is created once. */
function fieldsOf(shape: Shape): readonly NamedField[] {
  let list = fieldLists.get(shape);
  if (list === undefined) {
    list = Object.entries(shape).map(([name, field]) => {
      const { kind, isOptional = false, isLazy = false } = field;
      return { name, field, kind, isOptional, isLazy };
    });
    fieldLists.set(shape, list);
  }
  return list;
}

function describe(field: Field): string {
  if (field.message !== undefined) return field.message;
  switch (field.kind) {
    case "boolean":
      return "must be true or false";
    case "enum": {
      const quoted = field.values.map((value) => `"${value}"`);
      return `must be ${quoted.slice(0, -1).join(", ")} or ${quoted.at(-1)}`;
    }
    case "array":
      return "must be a list of strings";
    case "string":
    case "number":
      return `must be a ${field.kind}`;
    default:
      return "must be an object";
  }
}

/** Returns whether a property is a getter, so that reading it would create its value. */
export function hasGetter(object: object, name: string): boolean {
  // Most lazy fields are missing, and reading a descriptor takes much longer than `hasOwn`.
  return Object.hasOwn(object, name) && Object.getOwnPropertyDescriptor(object, name)?.get !== undefined;
}

/**
 * Adds frozen copies of the optional fields that `source` has to a copy of the others, and freezes it. A lazy getter
 * is called when the property of the copy is read. The caller creates the required fields in a literal, because adding
 * fields one by one takes several times as long and more memory.
 */
export function completeFrozen<T extends object>(copy: T, shape: Shape, source: object): T {
  const fields = fieldsOf(shape);
  for (let index = 0; index < fields.length; index++) {
    const { name, field, isOptional, isLazy } = fields[index]!;
    if (!isOptional) continue;
    if (isLazy && hasGetter(source, name)) {
      forwardGetter(source, name, copy);
      continue;
    }
    const value = (source as JSONObject)[name];
    if (value !== undefined) (copy as JSONObject)[name] = freezeValue(field, value);
  }
  return Object.freeze(copy);
}

function freezeValue(field: Field, value: unknown): unknown {
  switch (field.kind) {
    case "array":
      return Object.freeze((value as unknown[]).map((item) => freezeValue(field.item, item)));
    case "object":
    case "record":
      return Object.freeze({ ...(value as object) });
    default:
      return value;
  }
}

/** Defines a property of `target` that reads the property of `source` on first access. */
export function forwardGetter(source: object, name: string, target: object): void {
  const get = () => (source as JSONObject)[name];
  Object.defineProperty(target, name, { get, enumerable: true, configurable: true });
}

/** Returns the public fields of a shape. Their values are not copied. */
export function pickPublic<T extends object>(shape: Shape, source: T): T {
  const copy: JSONObject = {};
  for (const { name, field } of fieldsOf(shape)) {
    const value = field.isPrivate ? undefined : (source as JSONObject)[name];
    if (value !== undefined) copy[name] = value;
  }
  return copy as T;
}
