import type * as WS from "ws";
import { CallError } from "../../operation/index.ts";

/** What this package uses of `ws`. */
export type WSModule = typeof WS;

/** Loads `ws` when it is first needed, because it is an optional peer that browsers do without. */
export async function loadWS(load: () => Promise<WSModule> = () => import("ws")): Promise<WSModule> {
  try {
    return await load();
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new CallError(
      "UNAVAILABLE",
      "WebSockets on this version of Node need the package ws, which is not installed. Install it: npm install ws",
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
