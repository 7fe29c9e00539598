import type * as Jose from "jose";
import { CallError } from "../operation/index.ts";

/** The package that makes and checks tokens. */
export type JoseModule = typeof Jose;

/** Loads the package when it is first needed, because it is an optional peer. */
export async function loadJose(load: () => Promise<JoseModule> = () => import("jose")): Promise<JoseModule> {
  try {
    return await load();
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code !== "ERR_MODULE_NOT_FOUND" && code !== "MODULE_NOT_FOUND") throw error;
    throw new CallError(
      "UNAVAILABLE",
      "Signed identities need the package jose, which is not installed. Install it: npm install jose",
      { package: "jose" },
      { cause: error, mayHaveRun: false },
    );
  }
}
