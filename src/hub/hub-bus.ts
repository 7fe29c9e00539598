import { createPublicKey } from "node:crypto";
import { createCallHandler, PendingRequestMap, peerSource, type StopHandling } from "../call/inside.ts";
import { waitFor } from "../internal/wait.ts";
import { createJWTAuthenticator, createJWTSigner, type JWTAuthenticator, type JWTSigner } from "../jwt/index.ts";
import { mapError, unavailable } from "../operation/inside.ts";
import type { OperationRegistry } from "../registry/index.ts";
import type { Transport } from "../transport/transport.ts";
import type { BusTrust, WithoutEnv } from "./config.ts";
import type { OpenedSource } from "./hub-source.ts";
import { ownOperations } from "./rules.ts";

/** Audience of the tokens with which calls on a bus are signed. Peers that are not hubs have to use it too. */
const busAudience = "operations";

/**
 * Imports the operations of the peers on a bus and, with `serve`, serves those of the hub there. Operations that came from
 * the bus are not served on it, because both use the same map.
 */
export async function openBus<Options extends object>(
  { sign: key, trustedBus = false, serve = false, ...options }: WithoutEnv<BusTrust> & Options,
  connect: (options: Omit<Options, keyof BusTrust>) => Promise<Transport>,
  registry: OperationRegistry,
): Promise<OpenedSource> {
  const { sign, authenticate } = key === undefined ? {} : await createBusKeys(key);
  const transport = await connect(options);
  const callMap = new PendingRequestMap(transport, { trustedBus, sign });
  const peers = peerSource(callMap);
  let stopServing: StopHandling | undefined;
  const startServing = async () => {
    const options = { registry, callMap, trustedBus, authenticate, exclude: ownOperations };
    stopServing = callMap.handle(createCallHandler({ ...options, via: "bus" }));
    await stopServing.ready;
  };
  return {
    source: {
      name: peers.name,
      traits: peers.traits!,
      load: async (options = {}) => {
        const stopped = () => unavailable("The source was stopped.", { mayHaveRun: false });
        if (serve) await waitFor(startServing(), options, stopped); // It is retried while the bus is not available.
        return peers.load(options);
      },
      onChange: (listener) => peers.onChange!(listener),
      close: async () => {
        await stopServing?.();
        await peers.close();
        await callMap.close();
      },
    },
    ...watchLink(transport),
  };
}

/** Reports whether a transport has a connection. It reconnects automatically. */
export function watchLink(transport: Transport): Pick<OpenedSource, "watch"> {
  return {
    watch: (listener) => void transport.onLinkChange?.((error) => listener(error && mapError(error))),
  };
}

/**
 * Creates the functions that sign calls and check signed calls with one key: a secret that all peers share, or the PEM of a
 * private key, whose public key checks the calls.
 */
async function createBusKeys(key: string): Promise<{ sign?: JWTSigner; authenticate?: JWTAuthenticator }> {
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
