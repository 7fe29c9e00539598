import type * as NATS from "@nats-io/transport-node";
import { CallError } from "../../operation/index.ts";

const packageName = "@nats-io/transport-node";

/** Loads the client library when it is first needed, because it is an optional peer. */
export async function loadNATSClient(): Promise<typeof NATS> {
  try {
    return await import("@nats-io/transport-node");
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code !== "ERR_MODULE_NOT_FOUND" && code !== "MODULE_NOT_FOUND") throw error;
    throw new CallError(
      "UNAVAILABLE",
      `The NATS transport needs the package ${packageName}, which is not installed. Install it: npm install ${packageName}`,
      { package: packageName },
      { cause: error, mayHaveRun: false },
    );
  }
}
