import { createPublicKey } from "node:crypto";
import { PendingRequestMap, peerSource, serveCalls } from "../call/index.ts";
import type { OperationSource } from "../from/source.ts";
import { logger } from "../internal/log.ts";
import { createJWTAuthenticator, createJWTSigner, type JWTAuthenticator, type JWTSigner } from "../jwt/index.ts";
import { mapError } from "../operation/index.ts";
import type { OperationRegistry } from "../registry/index.ts";
import type { Transport } from "../transport/transport.ts";
import type { BusTrust, WithoutEnv } from "./config.ts";
import type { OpenedSource } from "./hub-source.ts";

const log = logger("hub");

/** Audience of the tokens with which calls on a bus are signed. Peers that are not hubs have to use it too. */
const busAudience = "operations";

/** Operations that manage this hub, which other hubs on the bus have too. */
const ownOperations = ["hub.*"];

/**
 * Imports the operations of the peers on a bus and, with `serve`, serves those of the hub there. Operations that came from
 * the bus are not served on it, because both use the same map.
 */
export async function openBus(
  transport: Transport,
  { sign: key, trustedBus = false, serve = false }: WithoutEnv<BusTrust>,
  registry: OperationRegistry,
): Promise<OpenedSource> {
  let callMap: PendingRequestMap;
  let serving: ReturnType<typeof serveCalls> | undefined;
  try {
    const keys = key === undefined ? undefined : await createBusKeys(key);
    callMap = new PendingRequestMap(transport, { trustedBus, ...(keys && { sign: keys.sign }) });
    if (serve) {
      const authenticate = keys?.authenticate;
      serving = serveCalls(registry, callMap, { trustedBus, authenticate, exclude: ownOperations });
      serving.catch((error) => log.debug("The operations of the hub are not served on a bus: {error}", { error }));
    }
  } catch (error) {
    await transport.close();
    throw error;
  }
  const peers = peerSource(callMap);
  const source: OperationSource = {
    name: peers.name,
    yields: true,
    load: async (options) => {
      await serving;
      return peers.load(options);
    },
    onChange: (listener) => peers.onChange!(listener),
    isIncomplete: (operationId) => peers.isIncomplete!(operationId),
    close: async () => {
      const served = await serving?.catch(() => undefined);
      await served?.close();
      await peers.close();
      await callMap.close();
    },
  };
  return { source, ...watchLink(transport) };
}

/** Reports whether a transport has a connection. It reconnects by itself. */
export function watchLink(transport: Transport): Pick<OpenedSource, "onConnectionChange"> {
  return {
    onConnectionChange: (listener) => {
      const stop = transport.onLinkChange?.((error) =>
        listener(error === undefined ? { status: "ready" } : { status: "retrying", error: mapError(error) }),
      );
      return () => stop?.();
    },
  };
}

/**
 * Creates the functions that sign calls and check signed calls with one key: a secret that all peers share, or the PEM of a
 * private key, whose public key checks the calls.
 */
async function createBusKeys(key: string): Promise<{ sign: JWTSigner; authenticate: JWTAuthenticator }> {
  const isPEM = key.trimStart().startsWith("-----BEGIN");
  const secret = new TextEncoder().encode(key);
  return {
    sign: await createJWTSigner({ key: isPEM ? key : secret, audience: busAudience }),
    authenticate: await createJWTAuthenticator({
      key: isPEM ? String(createPublicKey(key).export({ type: "spki", format: "pem" })) : secret,
      audience: busAudience,
    }),
  };
}
