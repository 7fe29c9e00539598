// #region mcp
import { jwt } from "@alkdev/operations/auth";
import { toNodeHandler } from "@alkdev/operations/node";
import { serveMCP } from "@alkdev/operations/serve-mcp";
import express from "express";
import { registry } from "./server.ts";

export const mcp = serveMCP(registry, {
  authenticate: jwt({
    jwks: "https://login.example.com/.well-known/jwks.json",
    issuer: "https://login.example.com/",
    audience: "https://tasks.example.com/mcp",
  }),
});
const handler = toNodeHandler(mcp, { basePath: "/mcp" });

export const app = express();
app.use("/mcp", handler);
app.use("/.well-known/oauth-protected-resource/mcp", handler); // where clients learn how to obtain a token
// #endregion mcp
