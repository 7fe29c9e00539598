import type * as WS from "ws";
import { CallError } from "../../operation/index.ts";

/** What this package uses of `ws`. */
export type WSModule = typeof WS;

/** Loads `ws` when it is first needed, because it is an optional peer that browsers do without. `needed` begins the error. */
export async function loadWS(needed: string): Promise<WSModule> {
  try {
    return await import("ws"); // in this block bundlers take it for what it is: not needed everywhere
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new CallError(
      "UNAVAILABLE",
      `${needed} the package ws, which is not installed. Install it: npm install ws`,
      { package: "ws" },
      { cause: error, mayHaveRun: false },
    );
  }
}

function isMissing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") && /['"]ws['"]/.test(error.message);
}
