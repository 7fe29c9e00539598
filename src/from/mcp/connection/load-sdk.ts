import type * as MCPSDK from "@modelcontextprotocol/client";
import { CallError } from "../../../operation/index.ts";

/** The client half of the official SDK. */
export type SDK = typeof MCPSDK;

const packageName = "@modelcontextprotocol/client";

let loaded: Promise<SDK> | undefined;

/** Loads the SDK when it is first needed, because it is an optional peer and slow to load. */
export function loadSDK(): Promise<SDK> {
  loaded ??= importSDK(() => import("@modelcontextprotocol/client")).catch((error) => {
    loaded = undefined; // it may be installed while this process runs
    throw error;
  });
  return loaded;
}

/** Runs the import and says what to install when the package is missing. */
export async function importSDK(load: () => Promise<SDK>): Promise<SDK> {
  try {
    return await load();
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new CallError(
      "UNAVAILABLE",
      `MCP servers need the package ${packageName}, which is not installed. Install it: npm install ${packageName}`,
      { package: packageName },
      { cause: error, mayHaveRun: false },
    );
  }
}

function isMissing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") && error.message.includes(packageName);
}
