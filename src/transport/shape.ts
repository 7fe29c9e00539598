import { isJSONObject } from "../internal/objects.ts";

/** The fields of a frame, by name. Its type, its check and the public schema of its event are derived from this table. */
export type Shape = { readonly [name: string]: Field };

/** One field. `T` is the type of its values. */
export type Field<T = unknown, Optional extends boolean = boolean> = {
  /** Whether the field may be missing. */
  readonly isOptional?: Optional;
  /**
   * Returns whether the field accepts a value. Checks the value itself and the items of a list, not the fields of an object.
   * Not called for `undefined` in an optional field.
   */
  readonly isValid: (value: unknown) => boolean;
  /** The type of the values; never set. A function, because an optional property of type `T` would add `undefined`. */
  readonly "~type"?: () => T;
} & (
  | { readonly kind: "string"; readonly minLength: number; readonly maxLength: number }
  | { readonly kind: "number"; readonly isInteger: boolean; readonly min: number; readonly max: number }
  | { readonly kind: "array"; readonly item: Field }
  | { readonly kind: "boolean" | "unknown" | "object" | "literal" }
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

type Required<T> = Field<T, false>;

/** One string, such as the type of a frame. */
export function literal<const T extends string>(text: T): Required<T> {
  return { kind: "literal", isValid: (value) => value === text };
}

/** A string of some length, counted in UTF-16 code units. */
export function string(options: { minLength?: number; maxLength?: number } = {}): Required<string> {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = options;
  const isValid = (value: unknown) =>
    typeof value === "string" && value.length >= minLength && value.length <= maxLength;
  return { kind: "string", minLength, maxLength, isValid };
}

/** A finite number, unless the range includes infinity. Never `NaN`. */
export function number(options: { isInteger?: boolean; min?: number; max?: number } = {}): Required<number> {
  const { isInteger = false, min = -Number.MAX_VALUE, max = Number.MAX_VALUE } = options;
  const isValid = (value: unknown) =>
    typeof value === "number" && value >= min && value <= max && (!isInteger || Number.isSafeInteger(value));
  return { kind: "number", isInteger, min, max, isValid };
}

/** `true` or `false`. */
export function boolean(): Required<boolean> {
  return { kind: "boolean", isValid: (value) => typeof value === "boolean" };
}

/** Any value, including `undefined`, which JSON drops. */
export function unknown(): Required<unknown> {
  return { kind: "unknown", isValid: () => true };
}

/** A list of values of one kind. */
export function array<T>(item: Field<T>): Required<T[]> {
  return { kind: "array", item, isValid: (value) => Array.isArray(value) && value.every(item.isValid) };
}

/** An object. Its fields are checked by the code that reads them. */
export function object<T>(isValid: (value: unknown) => boolean = isJSONObject): Required<T> {
  return { kind: "object", isValid };
}

/** A field that may be missing. */
export function optional<T>(field: Field<T>): Field<T, true> & { isOptional: true } {
  return { ...field, isOptional: true };
}
