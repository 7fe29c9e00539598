import type { StandardTypedV1 } from "@standard-schema/spec";
import type { Static, TSchema } from "typebox";

/** What a caller passes to an operation with this `inputSchema`. `unknown` where the schema does not tell. */
export type InferInput<Schema> = Schema extends StandardTypedV1
  ? StandardTypedV1.InferInput<Schema>
  : Schema extends TSchema
    ? Static<Schema>
    : unknown;

/** What the handler receives: for Standard Schemas what validating gives, with defaults and transforms applied. */
export type InferHandlerInput<Schema> = InferOutput<Schema>;

/** The data that an operation with this `outputSchema` answers with. */
export type InferOutput<Schema> = Schema extends StandardTypedV1
  ? StandardTypedV1.InferOutput<Schema>
  : Schema extends TSchema
    ? Static<Schema>
    : unknown;
