import type {
  Static,
  TAny,
  TArray,
  TArrayOptions,
  TBoolean,
  TEnum,
  TEnumValue,
  TInteger,
  TLiteral,
  TLiteralValue,
  TNumber,
  TNumberOptions,
  TObject,
  TObjectOptions,
  TProperties,
  TRecordAction,
  TSchema,
  TSchemaOptions,
  TString,
  TStringOptions,
  TTuple,
  TTypeScriptEnumLike,
  TTypeScriptEnumToEnumValues,
  TUnion,
  TUnknown,
} from "typebox";

/** A schema with a default: callers may omit such a property, and the handler receives the default. */
export type TDefault<Schema extends TSchema> = Schema & {
  /** The value that replaces a missing one. */
  readonly default: unknown;
};

/** Options with a default, which must be a value of the type. */
type With<Options, Value> = Options & { default: Value };
/** Options without a default. */
type Without<Options> = Options & { default?: undefined };

/** The functions of TypeBox's `Type` whose result type records that there is a default. */
export interface DefaultBuilders {
  /** Creates a string with a default. */
  String(options: With<TStringOptions, string>): TDefault<TString>;
  /** Creates a string. */
  String(options?: Without<TStringOptions>): TString;
  /** Creates a number with a default. */
  Number(options: With<TNumberOptions, number>): TDefault<TNumber>;
  /** Creates a number. */
  Number(options?: Without<TNumberOptions>): TNumber;
  /** Creates an integer with a default. */
  Integer(options: With<TNumberOptions, number>): TDefault<TInteger>;
  /** Creates an integer. */
  Integer(options?: Without<TNumberOptions>): TInteger;
  /** Creates a boolean with a default. */
  Boolean(options: With<TSchemaOptions, boolean>): TDefault<TBoolean>;
  /** Creates a boolean. */
  Boolean(options?: Without<TSchemaOptions>): TBoolean;
  /** Creates a literal with a default. */
  Literal<Value extends TLiteralValue>(value: Value, options: With<TSchemaOptions, Value>): TDefault<TLiteral<Value>>;
  /** Creates a literal. */
  Literal<Value extends TLiteralValue>(value: Value, options?: Without<TSchemaOptions>): TLiteral<Value>;
  /** Creates an enum with a default. */
  Enum<Values extends TEnumValue[]>(
    values: readonly [...Values],
    options: With<TSchemaOptions, Values[number]>,
  ): TDefault<TEnum<Values>>;
  /** Creates an enum. */
  Enum<Values extends TEnumValue[]>(values: readonly [...Values], options?: Without<TSchemaOptions>): TEnum<Values>;
  /** Creates an enum from a TypeScript enum. */
  Enum<Enum extends TTypeScriptEnumLike>(
    value: Enum,
    options?: TSchemaOptions,
  ): TEnum<TTypeScriptEnumToEnumValues<Enum>>;
  /** Creates a union with a default. */
  Union<Types extends TSchema[]>(
    anyOf: [...Types],
    options: With<TSchemaOptions, Static<TUnion<Types>>>,
  ): TDefault<TUnion<Types>>;
  /** Creates a union. */
  Union<Types extends TSchema[]>(anyOf: [...Types], options?: Without<TSchemaOptions>): TUnion<Types>;
  /** Creates an array with a default. */
  Array<Type extends TSchema>(items: Type, options: With<TArrayOptions, readonly unknown[]>): TDefault<TArray<Type>>;
  /** Creates an array. */
  Array<Type extends TSchema>(items: Type, options?: Without<TArrayOptions>): TArray<Type>;
  /** Creates a tuple with a default. */
  Tuple<Types extends TSchema[]>(
    types: [...Types],
    options: With<TArrayOptions, readonly unknown[]>,
  ): TDefault<TTuple<Types>>;
  /** Creates a tuple. */
  Tuple<Types extends TSchema[]>(types: [...Types], options?: Without<TArrayOptions>): TTuple<Types>;
  /** Creates an object with a default. */
  Object<Properties extends TProperties>(
    properties: Properties,
    options: With<TObjectOptions, object>,
  ): TDefault<TObject<Properties>>;
  /** Creates an object. */
  Object<Properties extends TProperties>(
    properties: Properties,
    options?: Without<TObjectOptions>,
  ): TObject<Properties>;
  /** Creates a record with a default. */
  Record<Key extends TSchema, Value extends TSchema>(
    key: Key,
    value: Value,
    options: With<TObjectOptions, object>,
  ): TDefault<TRecordAction<Key, Value>>;
  /** Creates a record. */
  Record<Key extends TSchema, Value extends TSchema>(
    key: Key,
    value: Value,
    options?: Without<TObjectOptions>,
  ): TRecordAction<Key, Value>;
  /** Creates a schema for any value, with a default. */
  Unknown(options: With<TSchemaOptions, unknown>): TDefault<TUnknown>;
  /** Creates a schema for any value. */
  Unknown(options?: Without<TSchemaOptions>): TUnknown;
  /** Creates a schema for any value with the static type `any`, with a default. */
  Any(options: With<TSchemaOptions, unknown>): TDefault<TAny>;
  /** Creates a schema for any value with the static type `any`. */
  Any(options?: Without<TSchemaOptions>): TAny;
}
