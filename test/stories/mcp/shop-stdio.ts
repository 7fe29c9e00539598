import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createShop, onShopChange } from "./shop-server.ts";

const servers = new Set<ReturnType<typeof createShop>>();
onShopChange(() => {
  for (const server of servers) void server.sendToolListChanged();
});
process.stderr.write("the shop is open\n");
serveStdio(() => {
  const server = createShop();
  servers.add(server);
  return server;
});
