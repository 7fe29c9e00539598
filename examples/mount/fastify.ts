// #region fastify
import { toNodeHandler } from "@alkdev/operations/node";
import fastify from "fastify";
import { server } from "./server.ts";

const handler = toNodeHandler(server, { basePath: "/api" });

export const app = fastify();
app.register(
  async (scope) => {
    // The server reads the body itself.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, _body, done) => done(null));
    scope.all("/*", (request, reply) => {
      reply.hijack();
      handler(request.raw, reply.raw);
    });
  },
  { prefix: "/api" },
);
// #endregion fastify
