import { randomUUID } from "node:crypto";
import { chmod, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { readBounded } from "../from/read-bounded.ts";
import { toReason } from "../internal/text.ts";

/**
 * Returns the folder in which the hub and the command line keep their state: `$XDG_STATE_HOME/operations`, or
 * `~/.local/state/operations`; `undefined` if the user has no home folder.
 */
export function findStateFolder(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  const state = environment["XDG_STATE_HOME"];
  if (state !== undefined && isAbsolute(state)) return join(state, "operations");
  const home = environment["HOME"] ?? readHome();
  return home !== undefined && isAbsolute(home) ? join(home, ".local", "state", "operations") : undefined;
}

function stateFile(name: string, environment: NodeJS.ProcessEnv | undefined): string {
  const folder = findStateFolder(environment);
  if (folder !== undefined) return join(folder, name);
  throw new Error("There is no home folder to keep state in. Set XDG_STATE_HOME to the path of a folder.");
}

function readHome(): string | undefined {
  try {
    return homedir();
  } catch {
    return undefined; // The user is not in the list of users.
  }
}

/** Reads a file of the state folder; `undefined` if it does not exist or cannot be read. */
export async function readState(name: string, environment?: NodeJS.ProcessEnv): Promise<string | undefined> {
  try {
    return readBounded(stateFile(name, environment));
  } catch {
    return undefined;
  }
}

/**
 * Replaces a file of the state folder, which only the user can read. Readers see the old or the new file and never a part.
 * Throws an `Error` that names the file and the reason.
 */
export async function writeState(name: string, content: string, environment?: NodeJS.ProcessEnv): Promise<void> {
  const file = stateFile(name, environment);
  const temporary = `${file}.${randomUUID()}`;
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await chmod(dirname(file), 0o700); // The folder may exist with another mode.
    await writeFile(temporary, content, { mode: 0o600, flag: "wx" });
    await rename(temporary, file);
  } catch (cause) {
    await rm(temporary, { force: true }).catch(() => {});
    throw new Error(`The file ${file} cannot be written: ${toReason(cause)}.`, { cause });
  }
}

/** Removes a file of the state folder, if it exists and can be removed. */
export async function removeState(name: string, environment?: NodeJS.ProcessEnv): Promise<void> {
  try {
    await rm(stateFile(name, environment), { force: true });
  } catch {
    // A file that remains contains a token that no hub accepts any more.
  }
}

/** A hub on this machine: the address at which it listens, and its token for the command line. */
export interface StoredHub {
  readonly url: string;
  readonly token: string;
}

/** Stores the token of a hub for the command line. */
export function storeHub(hub: StoredHub, environment?: NodeJS.ProcessEnv): Promise<void> {
  return writeState(hubFile(toOwnAddress(new URL(hub.url))), `${JSON.stringify(hub)}\n`, environment);
}

/**
 * Finds the hub that listens at an address. Addresses are compared exactly, because another program may listen at another
 * address of this machine. A hub at `localhost` is one at 127.0.0.1 or [::1]: connect to the address that is returned.
 */
export async function findHub(url: string, environment?: NodeJS.ProcessEnv): Promise<StoredHub | undefined> {
  if (!URL.canParse(url)) return undefined;
  const address = new URL(url);
  const hosts = address.hostname === "localhost" ? ["127.0.0.1", "[::1]"] : [address.hostname];
  for (const hostname of hosts) {
    address.hostname = hostname;
    const stored = parseHub(await readState(hubFile(address), environment));
    if (stored !== undefined) return { url: address.href, token: stored.token };
  }
  return undefined;
}

/** Removes the token of a hub, unless another hub has replaced it in the meantime. */
export async function removeHub({ url, token }: StoredHub, environment?: NodeJS.ProcessEnv): Promise<void> {
  const file = hubFile(toOwnAddress(new URL(url)));
  if (parseHub(await readState(file, environment))?.token === token) await removeState(file, environment);
}

function parseHub(content: string | undefined): StoredHub | undefined {
  try {
    const stored = JSON.parse(content ?? "null") as StoredHub | null;
    return typeof stored?.token === "string" ? stored : undefined;
  } catch {
    return undefined; // The file is malformed.
  }
}

/** A hub that listens at all addresses is reached at the loopback address. */
function toOwnAddress(url: URL): URL {
  if (url.hostname === "0.0.0.0") url.hostname = "127.0.0.1";
  if (url.hostname === "[::]") url.hostname = "[::1]";
  return url;
}

function hubFile({ protocol, hostname, port }: URL): string {
  return `hubs/${protocol.replace(":", "")}-${hostname.replaceAll(/[[\]:]/g, "_")}-${port || "default"}.json`;
}
