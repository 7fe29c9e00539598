import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's root folder. */
export const root = fileURLToPath(new URL("..", import.meta.url));

/** One entry of `exports` in package.json that contains code. */
export interface Subpath {
  /** The key in `exports`, such as `.` or `./from-openapi`. */
  key: string;
  /** The specifier that users import, such as `@alkdev/operations/from-openapi`. */
  specifier: string;
  /** Its module without folder and extension, such as `from/openapi/index`. */
  entry: string;
}

/** Every sub-path of the package. Add new ones to `exports` in package.json. */
export const subpaths: Subpath[] = readSubpaths();

/** The source file of an entry, as an absolute path. */
export function sourceOf(entry: string): string {
  return resolve(root, "src", `${entry}.ts`);
}

function readSubpaths(): Subpath[] {
  const manifest: { name: string; exports: Record<string, string | { default: string }> } = JSON.parse(
    readFileSync(resolve(root, "package.json"), "utf8"),
  );
  return Object.entries(manifest.exports).flatMap(([key, target]) => {
    if (typeof target === "string") return [];
    const entry = target.default.replace(/^\.\/dist\//, "").replace(/\.js$/, "");
    return [{ key, specifier: manifest.name + key.slice(1), entry }];
  });
}
