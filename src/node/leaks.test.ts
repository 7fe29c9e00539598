import { once } from "node:events";
import { connect } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, onTestFinished, test } from "vitest";
import { createRegistry, defineOperation, Type } from "../index.ts";
import { until } from "../internal/testing.ts";
import { serveHTTP } from "../serve/http/index.ts";
import { listen } from "./index.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

test.each([
  ["was sent", 10],
  ["waits for its client", 20_000_000],
])("an open connection does not keep the result of a call whose response %s", async (_state, length) => {
  let result: WeakRef<object> | undefined;
  const large = defineOperation({
    namespace: "test",
    name: "large",
    type: "query",
    inputSchema: Type.Object({}),
    outputSchema: Type.Unknown(),
    handler() {
      const value = { text: "x".repeat(length) };
      result = new WeakRef(value);
      return value;
    },
  });
  const registry = createRegistry({ operations: [large] });
  const listener = await listen({ "/": serveHTTP(registry, { authenticate: "none" }) }, { closeTimeout: 0 });
  onTestFinished(() => listener.close());
  const socket = connect(listener.port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {}).write("GET /test/large HTTP/1.1\r\nhost: localhost\r\n\r\n");

  await once(socket, "readable"); // It is never read to its end.

  await until(() => {
    collectGarbage();
    return result?.deref() === undefined;
  });
  expect(socket.destroyed).toBe(false);
});
