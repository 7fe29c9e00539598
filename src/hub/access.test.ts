import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createToken } from "../auth/index.ts";
import { isOperator } from "../operation/inside.ts";
import { HubAccess } from "./access.ts";
import { findHub, findStateFolder } from "./state-folder.ts";

let folder: string;
let environment: NodeJS.ProcessEnv;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "hub-access-"));
  environment = { XDG_STATE_HOME: folder };
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const url = "http://127.0.0.1:4000";

function identify(access: HubAccess, token: string | undefined) {
  return access.authenticate({ headers: new Headers(), token });
}

test("the tokens of the configuration identify callers", async () => {
  const { token, hash } = createToken();
  const identity = { id: "ada", scopes: ["tasks"] };
  const access = new HubAccess({ tokens: [{ hash, identity }] }, environment);
  await access.announce(url);
  expect([identify(access, token), identify(access, createToken().token), identify(access, undefined)]).toEqual([
    identity,
    undefined,
    undefined,
  ]);
  expect([access.token, await readdir(folder)]).toEqual([undefined, []]);
});

test("without tokens in the configuration, the hub creates one for its operator", () => {
  const access = new HubAccess(undefined, environment);
  expect(access.token).toMatch(/^[\w-]{43}$/);
  const operator = identify(access, access.token);
  expect([operator, isOperator(operator), isOperator({ ...operator! })]).toEqual([
    { id: "operator", scopes: [] },
    true,
    false,
  ]);
  expect([identify(access, createToken().token), identify(access, undefined)]).toEqual([undefined, undefined]);
});

test("an empty list of tokens allows no caller", () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  try {
    const access = new HubAccess({}, environment);
    expect([access.token, identify(access, createToken().token)]).toEqual([undefined, undefined]);
    expect(warn).toHaveBeenCalledOnce();
  } finally {
    warn.mockRestore();
  }
});

test("the created token is stored for the command line, and only its user can read it", async () => {
  await mkdir(join(folder, "operations", "hubs"), { recursive: true });
  await chmod(join(folder, "operations", "hubs"), 0o755);
  const access = new HubAccess(undefined, environment);
  await access.announce(url);
  const hubs = join(folder, "operations", "hubs");
  const file = join(hubs, (await readdir(hubs))[0]!);
  expect([(await stat(hubs)).mode & 0o777, (await stat(file)).mode & 0o777]).toEqual([0o700, 0o600]);
  expect(JSON.parse(await readFile(file, "utf8"))).toEqual({ url, token: access.token });
  for (const same of [url, `${url}/`, "http://localhost:4000/"]) {
    expect(await findHub(same, environment)).toEqual({ url: `${url}/`, token: access.token });
  }
  const others = ["http://127.0.0.2:4000", "http://[::1]:4000", "http://127.0.0.1:4001", "https://127.0.0.1:4000"];
  for (const other of [...others, "http://example.com:4000", "no url"]) {
    expect(await findHub(other, environment)).toBe(undefined);
  }
  await access.close();
  expect(await readdir(hubs)).toEqual([]);
});

test("a hub that ends does not remove the token of one that started at the same URL", async () => {
  const create = () => new HubAccess(undefined, environment);
  const [first, second] = [create(), create()];
  await first.announce(url);
  await second.announce(url);
  await first.close();
  expect(await findHub(url, environment)).toMatchObject({ token: second.token });
});

test("a malformed file is not a token", async () => {
  await mkdir(join(folder, "operations", "hubs"), { recursive: true });
  await writeFile(join(folder, "operations", "hubs", "http-127.0.0.1-4000.json"), "{");
  expect(await findHub(url, environment)).toBe(undefined);
});

test("a new configuration replaces the tokens", async () => {
  const { token, hash } = createToken();
  const identity = { id: "ada", scopes: [] };
  const access = new HubAccess(undefined, environment);
  await access.announce(url);
  const created = access.token;
  let changes = 0;
  access.onChange!(() => {
    changes += 1;
  });
  await access.update(undefined);
  expect([access.token, changes]).toEqual([created, 0]);
  await access.update({ tokens: [{ hash, identity }] });
  expect([identify(access, token), identify(access, created), access.token, changes]).toEqual([
    identity,
    undefined,
    undefined,
    1,
  ]);
  expect(await findHub(url, environment)).toBe(undefined);
  await access.update(undefined);
  expect(identify(access, token)).toBe(undefined);
  expect(access.token).not.toBe(created);
  expect(await findHub(url, environment)).toMatchObject({ token: access.token });
});

test("a token that cannot be stored is reported without its value, and the hub works", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  try {
    const homeless = new HubAccess(undefined, { HOME: "" });
    await homeless.announce(url);
    await writeFile(join(folder, "file"), "");
    const refused = { XDG_STATE_HOME: join(folder, "file") };
    const access = new HubAccess(undefined, refused);
    await access.announce(url);
    await access.close();
    const prefix = "[alkdev.operations.hub] The command line cannot find the token of this hub: ";
    const advice = "Set OPERATIONS_TOKEN in its environment instead.";
    expect(warn.mock.calls.map(([line]) => line)).toEqual([
      `${prefix}There is no home folder to keep state in. Set XDG_STATE_HOME to the path of a folder. ${advice}`,
      expect.stringMatching(/cannot be written: ENOTDIR.*Set OPERATIONS_TOKEN in its environment instead\.$/),
    ]);
    expect(identify(homeless, homeless.token)).toMatchObject({ id: "operator" });
    expect(warn.mock.calls.flat().join()).not.toContain(access.token);
  } finally {
    warn.mockRestore();
  }
});

test("the token is not printed with the object that has it", () => {
  const access = new HubAccess(undefined, environment);
  expect(inspect(access, { depth: 9, showHidden: true }) + JSON.stringify(access)).not.toContain(access.token);
});

test("the state folder is that of the user", () => {
  expect([
    findStateFolder({ XDG_STATE_HOME: "/state", HOME: "/home/ada" }),
    findStateFolder({ XDG_STATE_HOME: "relative", HOME: "/home/ada" }),
    findStateFolder({ HOME: "/home/ada" }),
    findStateFolder({ HOME: "" }),
  ]).toEqual([
    "/state/operations",
    "/home/ada/.local/state/operations",
    "/home/ada/.local/state/operations",
    undefined,
  ]);
});
