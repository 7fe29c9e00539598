import type { Static } from "typebox";
import { expectTypeOf } from "vitest";
import type { OperationSpec, OperationSpecSchema } from "./spec.ts";

// The type and the schema of a spec are written by hand: each field must be in both, and of the same type.
expectTypeOf<Static<typeof OperationSpecSchema>>().toEqualTypeOf<OperationSpec>();
