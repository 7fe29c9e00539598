import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** One version of the package, as users import it. */
export interface Library {
  /** The folder whose `node_modules` contains the package. */
  readonly folder: string;
  readonly root: typeof import("@alkdev/operations");
  readonly client: typeof import("@alkdev/operations/client");
  readonly middleware: typeof import("@alkdev/operations/middleware");
  readonly node: typeof import("@alkdev/operations/node");
  readonly fromMCP: typeof import("@alkdev/operations/from-mcp");
  readonly fromOpenAPI: typeof import("@alkdev/operations/from-openapi");
  readonly serveHTTP: typeof import("@alkdev/operations/serve-http").serveHTTP;
  readonly serveMCP: typeof import("@alkdev/operations/serve-mcp").serveMCP;
  readonly webSocket: typeof import("@alkdev/operations/transport-websocket");
}

/** Imports the package that is installed in a folder. */
export async function loadLibrary(folder: string): Promise<Library> {
  // Not resolved by name: tsx would apply the paths of tsconfig.json, which lead to the sources.
  const own = join(folder, "node_modules/@alkdev/operations");
  const { exports } = JSON.parse(readFileSync(join(own, "package.json"), "utf8"));
  const load = async (subpath: string) => import(pathToFileURL(join(own, exports[`.${subpath}`].default)).href);
  return {
    folder,
    root: await load(""),
    client: await load("/client"),
    middleware: await load("/middleware"),
    node: await load("/node"),
    fromMCP: await load("/from-mcp"),
    fromOpenAPI: await load("/from-openapi"),
    serveHTTP: (await load("/serve-http")).serveHTTP,
    serveMCP: (await load("/serve-mcp")).serveMCP,
    webSocket: await load("/transport-websocket"),
  };
}

/** The program of the `operations` command of an installed package. */
export function commandOf(library: Library): string {
  return join(library.folder, "node_modules/@alkdev/operations/dist/cli/main.js");
}
