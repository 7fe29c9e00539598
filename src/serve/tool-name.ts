import { parseOperationId } from "../operation/index.ts";
import { sha256 } from "./sha256.ts";

/** Maximum length of a tool name that all hosts and model APIs accept. */
export const maxToolNameLength = 64;

/** Names of the tools that find, describe and call operations in search mode. No operation has one of these names. */
export const searchToolNames = {
  search: "search_operations",
  describe: "describe_operation",
  call: "call_operation",
} as const;

const reserved: ReadonlySet<string> = new Set(Object.values(searchToolNames));

/** A namespace without `_`, so that the first `_` of a name ends it. */
const plainNamespace = /^[A-Za-z0-9-]+$/;
const plainName = /^[A-Za-z0-9_-]+$/;
/** The end of a name with a hash. */
const hashed = /_[0-9a-f]{16}$/;

/**
 * Returns the name of an operation as a tool of MCP and of model APIs: 1 to 64 letters, digits, `_` and `-`. It depends
 * only on the id. It is `namespace_name` if no other id can have that name, and otherwise ends with a hash of the id.
 */
export function toToolName(id: string): string {
  const { namespace = "", name = "" } = parseOperationId(id) ?? {};
  const joined = `${namespace}_${name}`;
  const isUnambiguous =
    plainNamespace.test(namespace) && plainName.test(name) && !hashed.test(joined) && !reserved.has(joined);
  if (isUnambiguous && joined.length <= maxToolNameLength) return joined;
  // With 64 bits, a foreign operation cannot choose an id that has the name of another operation.
  const hash = sha256(id).slice(0, 16);
  const readable = joined.replace(/[^A-Za-z0-9-]+/g, "_").slice(0, maxToolNameLength - hash.length - 1);
  return `${readable.replace(/_+$/, "")}_${hash}`;
}
