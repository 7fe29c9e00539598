import { randomUUID } from "node:crypto";
import { chmod, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { toReason } from "../internal/text.ts";
import { isLoopbackHost } from "../internal/urls.ts";

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
    return await readFile(stateFile(name, environment), "utf8");
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

/** Reads the token that a hub at this URL stored for the command line; `undefined` if it is missing. */
export async function readHubToken(url: string, environment?: NodeJS.ProcessEnv): Promise<string | undefined> {
  try {
    const stored = JSON.parse((await readState(tokenFile(url), environment)) ?? "null") as { token?: unknown } | null;
    return typeof stored?.token === "string" ? stored.token : undefined;
  } catch {
    return undefined; // The URL or the file is malformed.
  }
}

/** Returns the name of the file with the token of a hub. All names of this machine are the same hub. */
export function tokenFile(url: string): string {
  const { protocol, hostname, port } = new URL(url);
  const isLocal = isLoopbackHost(hostname) || hostname === "0.0.0.0" || hostname === "[::]";
  const host = isLocal ? "localhost" : hostname.replaceAll(/[[\]:]/g, "_");
  return `hubs/${protocol.replace(":", "")}-${host}-${port || "default"}.json`;
}
