import { fileURLToPath } from "node:url";
import { readBounded } from "../../from/read-bounded.ts";

/** Seen from this folder, and from that of the chunks of the built command, which is as deep. */
const folder = new URL("../../../templates/", import.meta.url);

/** Reads a file of `templates/` in the package, such as `completion/operations.bash`. */
export function readTemplate(name: string): string {
  return readBounded(fileURLToPath(new URL(name, folder)));
}
