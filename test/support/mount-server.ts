/** The server of the mount stories. It imports the package by its name: Next, Deno and Bun run it from the packed package. */
import { createRegistry, defineOperation, Type } from "@alkdev/operations";
import { type FetchServer, serveHTTP } from "@alkdev/operations/serve-http";

/** Creates a server that counts the calls and streams that wait for their caller to disconnect. */
export function createMountServer(): FetchServer {
  const counts = { started: 0, aborted: 0 };
  const waitForAbort = async (signal: AbortSignal) => {
    counts.started += 1;
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    counts.aborted += 1;
  };
  const shared = { namespace: "story", accessControl: { requiredScopes: ["story"] } };
  const empty = Type.Object({});
  const registry = createRegistry({
    operations: [
      defineOperation({
        ...shared,
        name: "greet",
        type: "mutation",
        inputSchema: Type.Object({ name: Type.String() }),
        outputSchema: Type.String(),
        errors: { UNKNOWN_NAME: Type.Object({ name: Type.String() }) },
        handler: ({ name }, { errors, identity }) => {
          if (name === "stranger") throw errors.UNKNOWN_NAME({ name }, "This name is unknown.");
          return `Hello ${name}, from ${identity?.id}`;
        },
      }),
      defineOperation({
        ...shared,
        name: "count",
        type: "subscription",
        inputSchema: Type.Object({ to: Type.Integer() }),
        outputSchema: Type.Integer(),
        handler: async function* ({ to }) {
          for (let value = 1; value <= to; value++) yield value;
        },
      }),
      defineOperation({
        ...shared,
        name: "wait",
        type: "mutation",
        inputSchema: empty,
        outputSchema: Type.Unknown(),
        handler: (_input, { signal }) => waitForAbort(signal),
      }),
      defineOperation({
        ...shared,
        name: "endless",
        type: "subscription",
        inputSchema: empty,
        outputSchema: Type.Integer(),
        handler: async function* (_input, { signal }) {
          yield 1;
          await waitForAbort(signal);
        },
      }),
      defineOperation({
        ...shared,
        name: "counts",
        type: "query",
        inputSchema: empty,
        outputSchema: Type.Object({ started: Type.Integer(), aborted: Type.Integer() }),
        handler: () => ({ ...counts }),
      }),
    ],
  });
  return serveHTTP(registry, {
    authenticate: ({ token }) => (token === "let-me-in" ? { id: "ada", scopes: ["story"] } : undefined),
  });
}
