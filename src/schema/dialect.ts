import { isRecord } from "./keywords.ts";

/** A published version of JSON Schema. */
export type Dialect = "draft-04" | "draft-06" | "draft-07" | "2019-09" | "2020-12";

/** Reads the dialect from `$schema`; `inherited` when there is none or it is not known. */
export function dialectOf(schema: unknown, inherited: Dialect = "2020-12"): Dialect {
  if (!isRecord(schema) || !Object.hasOwn(schema, "$schema") || typeof schema["$schema"] !== "string") return inherited;
  const known = /^https?:\/\/json-schema\.org\/(?:draft\/)?(draft-0[3-7]|2019-09|2020-12)\//.exec(schema["$schema"]);
  switch (known?.[1]) {
    case "draft-03":
      return "draft-04";
    case "draft-05":
      return "draft-04";
    case undefined:
      return inherited;
    default:
      return known![1] as Dialect;
  }
}

/** Up to draft 7 a `$ref` stands alone: whatever stands beside it is ignored. */
export function ignoresRefSiblings(dialect: Dialect): boolean {
  return dialect === "draft-04" || dialect === "draft-06" || dialect === "draft-07";
}

/** What `$schema` says for a dialect. */
export function uriOf(dialect: Dialect): string {
  return dialect.startsWith("draft-")
    ? `http://json-schema.org/${dialect}/schema#`
    : `https://json-schema.org/draft/${dialect}/schema`;
}
