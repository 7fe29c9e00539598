import { isObject, type JSONObject } from "./objects.ts";

/** The fields of an object, by name. Types, checks, copies and schemas of our own shapes all follow from such a table. */
export type Shape = { readonly [name: string]: Field };

/** What every field can have besides its kind. */
export interface FieldOptions {
  /** What a valid value is, to complete "`/path` …". @default follows from the kind */
  message?: string;
  /** For the JSON Schema. */
  description?: string;
  /** Whether a getter is not read by checks and copies, because the value is created when it is first needed. */
  isLazy?: boolean;
  /** Whether the field never leaves this process. */
  isPrivate?: boolean;
}

/** One field. `T` is the type of its values. */
export type Field<T = unknown, Optional extends boolean = boolean> = FieldOptions & {
  /** Whether the field may be missing. */
  readonly isOptional?: Optional;
  /**
   * Whether a value is one that the field takes. Looks no deeper than the value itself and the items of a list: objects in
   * it are only objects. Not used for `undefined` in the place of an optional field.
   */
  readonly isValid: (value: unknown) => boolean;
  /** Only a type: what the field holds. A function, because compilers read an optional property of type `T` differently. */
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

/** Writes out the members of an intersection. */
type Flatten<T> = { [Name in keyof T]: T[Name] };

/** The type of the objects that a shape describes. Comments on its fields become those of the type's members. */
export type ObjectOf<S> = Flatten<
  {
    -readonly [Name in keyof Omit<S, OptionalNames<S>>]: TypeOf<S[Name & keyof S]>;
  } & {
    -readonly [Name in keyof Pick<S, OptionalNames<S>>]?: TypeOf<S[Name]>;
  }
>;

/** The same for each shape of a union. */
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

/** A finite number, unless the range says otherwise. Never `NaN`. */
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

/** Anything, also `undefined`, which JSON drops. */
export function unknown(options: FieldOptions = {}): Required<unknown> {
  return { kind: "unknown", ...options, isValid: () => true };
}

/** A JSON Schema. Checks ask only whether it is there, because sources create theirs when they are first read. */
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

/** Whether a value is an object, and one after JSON too. */
export function isJSONObject(value: unknown): value is JSONObject {
  // A `toJSON` would turn it into something else on its way.
  return isObject(value) && typeof value["toJSON"] !== "function";
}

/** A value that a shape does not allow. */
export interface ShapeProblem {
  /** JSON pointer to the value. */
  path: string;
  /** What a valid value is. */
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
    problems.push({ path: `${parent}/${key}`, message: describe(field) });
  } else if (field.kind === "object") {
    addProblems(problems, field.shape, value as JSONObject, `${parent}/${key}`);
  }
}

/** A field with its name. Objects of one form, because registering thousands of operations reads them all the time. */
interface NamedField {
  readonly name: string;
  readonly field: Field;
  readonly kind: Field["kind"];
  readonly isOptional: boolean;
  readonly isLazy: boolean;
}

const fieldLists = new WeakMap<Shape, readonly NamedField[]>();

/** The fields of a shape as a list, which is made once. */
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

/** Whether reading a property would create its value. */
export function hasGetter(object: object, name: string): boolean {
  // Most fields that may be lazy are missing, and asking for a descriptor takes far longer than asking for the property.
  return Object.hasOwn(object, name) && Object.getOwnPropertyDescriptor(object, name)?.get !== undefined;
}

/**
 * Adds frozen copies of the optional fields that `source` has to a copy of the others, and freezes it. What a lazy getter
 * returns is read when the copy is. The required fields come from a literal at the caller, because an object whose fields
 * are added one by one takes several times as long to make, and more memory.
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

/** Lets a property be created when it is read from `target`, as it would be when read from `source`. */
export function forwardGetter(source: object, name: string, target: object): void {
  const get = () => (source as JSONObject)[name];
  Object.defineProperty(target, name, { get, enumerable: true, configurable: true });
}

/** The fields of a shape that may leave this process, without a copy of what they hold. */
export function pickPublic<T extends object>(shape: Shape, source: T): T {
  const copy: JSONObject = {};
  for (const { name, field } of fieldsOf(shape)) {
    const value = field.isPrivate ? undefined : (source as JSONObject)[name];
    if (value !== undefined) copy[name] = value;
  }
  return copy as T;
}
