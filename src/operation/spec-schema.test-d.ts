import type { Static } from "typebox";
import { expectTypeOf } from "vitest";
import type { OperationSpec } from "./spec.ts";
import type { OperationSpecSchema } from "./spec-schema.ts";

// What passes the schema can be registered, and every spec is described by it.
expectTypeOf<Static<typeof OperationSpecSchema>>().toEqualTypeOf<OperationSpec>();
