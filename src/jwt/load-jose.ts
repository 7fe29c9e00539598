import type * as Jose from "jose";
import { loadPeer } from "../operation/index.ts";

/** The package that makes and checks tokens. */
export type JoseModule = typeof Jose;

/** Loads the package when it is first needed, because it is an optional peer. */
export function loadJose(): Promise<JoseModule> {
  return loadPeer("jose", "signed identities", () => import("jose"));
}
