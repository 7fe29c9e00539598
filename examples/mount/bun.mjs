// #region bun
import { server } from "./server.ts";

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.env.PORT ?? 3000),
  fetch: server.fetch,
  idleTimeout: 0, // Bun would end calls and streams that send nothing for 10 s.
});
// #endregion bun
