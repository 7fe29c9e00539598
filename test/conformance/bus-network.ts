import type { Transport } from "../../src/transport/transport.ts";
import type { Service } from "../services/process.ts";
import { startProxy } from "../services/proxy.ts";
import type { TransportNetwork } from "./transport.ts";

/** Networks over one server, each with a prefix of its own and a proxy before the server, whose connections can be cut. */
export function createBusNetworks(
  service: Service,
  connect: (port: number, prefix: string) => Promise<Transport>,
): () => Promise<TransportNetwork> {
  let count = 0;
  return async () => {
    const proxy = await startProxy(service.port);
    count += 1;
    const prefix = `network-${count}`;
    const join = () => connect(proxy.port, prefix);
    return {
      caller: join,
      server: join,
      reconnect: async () => proxy.reset(),
      maxMessage: 64 * 1024,
      close: () => proxy.close(),
    };
  };
}
