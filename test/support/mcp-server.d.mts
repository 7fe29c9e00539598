import type { Server } from "@modelcontextprotocol/server";

/** A fresh server, as the SDK wants one for every connection or request. */
export declare function buildServer(): Server;
