import { expect, test } from "vitest";
import { loadPeer } from "./load-peer.ts";

function notFound(message: string, code = "ERR_MODULE_NOT_FOUND"): Error {
  return Object.assign(new Error(message), { code });
}

test("an installed package is loaded", async () => {
  await expect(loadPeer("jose", "signed identities", async () => "module")).resolves.toBe("module");
});

test.each([
  ["jose", notFound("Cannot find package 'jose' imported from /app/node_modules/@alkdev/operations/dist/jwt.js")],
  ["jose", notFound("Cannot find module 'jose'\nRequire stack:\n- /app/main.js", "MODULE_NOT_FOUND")],
  ["@nats-io/transport-node", notFound("Cannot find package '@nats-io/transport-node' imported from /app/main.js")],
  [
    "@modelcontextprotocol/client",
    notFound("Cannot find package '@modelcontextprotocol/client/stdio' imported from x"),
  ],
])("a missing %s is reported with the command that installs it", async (name, missing) => {
  await expect(loadPeer(name, "this feature", () => Promise.reject(missing))).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message: `The package ${name} is required for this feature and is not installed. Install it: npm install ${name}`,
    details: { package: name },
    cause: missing,
    mayHaveRun: false,
  });
});

test.each([
  [
    "a dependency of it is missing",
    notFound("Cannot find package 'other' imported from /app/node_modules/ws/index.js"),
  ],
  ["a file of it is missing", notFound("Cannot find module '/app/node_modules/ws/lib/x.js' imported from /app/ws.js")],
  ["a package with a similar name is missing", notFound("Cannot find package 'ws-extra' imported from /app/main.js")],
  ["it cannot be parsed", new SyntaxError("Unexpected token in 'ws'")],
  ["a value that is not an error was thrown", undefined],
])("when %s, the failure is thrown unchanged", async (_, failure) => {
  await expect(loadPeer("ws", "WebSocket servers", () => Promise.reject(failure))).rejects.toBe(failure);
});

test("Node reports a missing package in the form that is recognised", async () => {
  const name = "@alkdev/not-installed";

  await expect(loadPeer(name, "this test", () => import(/* @vite-ignore */ name))).rejects.toMatchObject({
    code: "UNAVAILABLE",
    details: { package: name },
  });
});
