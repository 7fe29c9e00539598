// #region deno
import { server } from "./server.ts";

Deno.serve({ hostname: "127.0.0.1", port: Number(Deno.env.get("PORT") ?? 3000) }, server.fetch);
// #endregion deno
