// #region hono
import { Hono } from "hono";
import { server } from "./server.ts";

export const app = new Hono();
app.all("/api/*", (context) => server.fetch(context.req.raw, { basePath: "/api" }));
// #endregion hono
