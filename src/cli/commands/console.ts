import { spawn } from "node:child_process";
import { findHub } from "../../hub/state-folder.ts";
import { isJSONObject } from "../../internal/objects.ts";
import { CallError, unavailable } from "../../operation/inside.ts";
import { defineCommand } from "../command.ts";
import { toHubURL } from "../target.ts";

const defaultHub = "http://127.0.0.1:4000";

/** `operations console` */
export const console = defineCommand({
  examples: ["console", "console --open", "console --hub https://operations.example.com"],
  options: {
    hub: { type: "string", value: "URL", description: `The running hub. Default: OPERATIONS_HUB, or ${defaultHub}.` },
    open: { type: "boolean", description: "Open the link in a browser." },
  },
  run: async ({ options, environment, print, stderr, signal }) => {
    const named = toHubURL(options.hub ?? (environment["OPERATIONS_HUB"] || defaultHub));
    const stored = environment["OPERATIONS_TOKEN"] ? undefined : await findHub(named.href, { ...environment });
    const hub = stored === undefined ? named : new URL(stored.url);
    const token = environment["OPERATIONS_TOKEN"] || stored?.token;
    const link = `${new URL("console/", hub).href}#code=${await requestCode(hub, token, signal)}`;
    if (options.open === true) openBrowser(link);
    if (!options.json) await stderr.write("This link signs you in once, within five minutes:\n");
    await print(`${link}\n`, { link });
  },
});

/** Asks a hub for a code of the owner of the token. */
async function requestCode(hub: URL, token: string | undefined, signal: AbortSignal): Promise<string> {
  const url = new URL("console/codes", hub);
  const headers = {
    "content-type": "application/json",
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  let response: Response;
  try {
    response = await fetch(url, { method: "POST", headers, body: "{}", signal });
  } catch (cause) {
    throw unavailable(`No hub answers at ${hub.href}. Start one with: npx @alkdev/operations serve`, {
      cause,
      mayHaveRun: false,
    });
  }
  const body: unknown = await response.json().catch(() => undefined);
  if (response.status === 401) {
    const message = `The hub at ${hub.href} does not accept this token. Check OPERATIONS_TOKEN.`;
    throw new CallError(
      "ACCESS_DENIED",
      token === undefined ? "Set OPERATIONS_TOKEN to a token of this hub." : message,
      undefined,
      { mayHaveRun: false },
    );
  }
  if (response.ok && isJSONObject(body) && typeof body["code"] === "string") return body["code"];
  const message = `${hub.href} serves no console (HTTP ${response.status}). Set serve.console to true in its configuration.`;
  throw new CallError("UNAVAILABLE", message, { status: response.status }, { mayHaveRun: false });
}

/** Opens a link with the program of the system. A failure does not matter: the link is printed, too. */
function openBrowser(link: string): void {
  const [command, ...before] = { darwin: ["open"], win32: ["cmd", "/c", "start", ""] }[process.platform as string] ?? [
    "xdg-open",
  ];
  spawn(command!, [...before, link], { stdio: "ignore", detached: true })
    .on("error", () => {})
    .unref();
}
