import { Type as typeBox } from "typebox";
// In a file of its own, because the API reference does not contain it.
import type { DefaultBuilders } from "./default-builders.ts";

/**
 * The schema builder of TypeBox with types that record defaults: callers of an operation may omit a property with a
 * `default`, and the handler receives it. With `Type` imported from `typebox`, this also works at run time, but the property
 * stays required in the type.
 * @example
 * const inputSchema = Type.Object({ title: Type.String(), priority: Type.Integer({ default: 3 }) });
 */
export const Type: Omit<typeof typeBox, keyof DefaultBuilders> & DefaultBuilders = typeBox as never;
