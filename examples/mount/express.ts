// #region express
import { toNodeHandler } from "@alkdev/operations/node";
import express from "express";
import { server } from "./server.ts";

export const app = express();
app.use("/api", toNodeHandler(server));
app.use(express.json()); // for your own routes
// #endregion express
