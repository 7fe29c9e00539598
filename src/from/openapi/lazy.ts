import type { TSchema } from "typebox";
import { logger } from "../../internal/log.ts";
import type { Limits } from "../../operation/index.ts";
import { FromSchema } from "../../schema/index.ts";

const log = logger("from", "openapi");

/** Makes a value on the first call and keeps it. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/**
 * A schema that is converted when it is first asked for. Should that fail, which an import looks out for, `fallback`
 * stands in and the log says why: a listing must not fail because of one operation.
 */
export function lazySchema(
  id: string,
  part: string,
  make: () => unknown,
  limits: Limits,
  fallback: unknown,
): () => TSchema {
  return once(() => {
    try {
      return FromSchema(make(), { limits });
    } catch (error) {
      log.warn("{id}: its {part} cannot be used: {error}", { id, part, error });
      return FromSchema(fallback);
    }
  });
}
