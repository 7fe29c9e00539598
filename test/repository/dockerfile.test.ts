import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../../scripts/subpaths.ts";

/** The instructions of the last stage, in order, each with the lines that continue it. */
const instructions = readFileSync(join(root, "Dockerfile"), "utf8")
  .replaceAll(/^#.*\n/gm, "")
  .replaceAll(/\\\n\s*/g, "")
  .split(/^FROM /m)
  .at(-1)!
  .trim()
  .split("\n")
  .filter((line) => line !== "");

const argumentsOf = (name: string) =>
  instructions.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));

/** Runs the command of the health check. */
async function checkHealth(port: number): Promise<number> {
  const [command = "", ...args]: string[] = JSON.parse(/CMD (\[.*\])$/.exec(argumentsOf("HEALTHCHECK")[0]!)![1]!);
  expect(command).toBe("node");
  const child = spawn(process.execPath, args, { env: { ...process.env, PORT: String(port) }, stdio: "ignore" });
  const [exitCode] = await once(child, "close");
  return exitCode as number;
}

test("the image runs the command of the package, as a user without privileges", () => {
  const { bin, name }: { bin: { operations: string }; name: string } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8"),
  );

  expect(JSON.parse(argumentsOf("ENTRYPOINT")[0]!)).toEqual(["node", `/node_modules/${name}/${bin.operations}`]);
  expect(argumentsOf("USER")).toEqual(["node"]);
  const afterUser = instructions.slice(instructions.indexOf("USER node"));
  expect(afterUser.some((line) => /^(RUN|COPY|ADD) /.test(line))).toBe(false);
});

test("it writes to the volume of its state only, so that its file system can be read-only", () => {
  expect(argumentsOf("VOLUME")).toEqual(["/state"]);
  expect(argumentsOf("ENV").join(" ")).toContain("XDG_STATE_HOME=/state");
});

test("its health check passes while /healthz responds with 200, and fails otherwise", async () => {
  let status = 200;
  const paths = new Set<string | undefined>();
  const server = createServer(({ url }, response) => {
    paths.add(url);
    response.writeHead(status).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;

  const healthy = await checkHealth(port);
  status = 503;
  const unhealthy = await checkHealth(port);
  server.close();
  await once(server, "close");

  expect([healthy, unhealthy, await checkHealth(port)]).toEqual([0, 1, 1]);
  expect([...paths]).toEqual(["/healthz"]);
});
