import { until } from "../../src/internal/testing.ts";

/** The results of the story. */
export interface MountStory {
  called: unknown;
  failed: unknown;
  refused: unknown;
  missing: unknown;
  streamed: string;
  /** Calls and streams that the server noticed to be aborted. */
  aborted: number;
}

/** What a server that is mounted correctly makes the story see. */
export const expectedMountStory: MountStory = {
  called: { status: 200, body: "Hello Ada, from ada" },
  failed: { status: 422, body: { code: "UNKNOWN_NAME", details: { name: "stranger" } } },
  refused: { status: 401, body: { code: "ACCESS_DENIED" } },
  missing: { status: 404, body: { code: "OPERATION_NOT_FOUND" } },
  streamed: "id: 0\ndata: 1\n\nid: 1\ndata: 2\n\nid: 2\ndata: 3\n\n: end\nevent: end\nid: end\n\n",
  aborted: 2,
};

const authorization = { authorization: "Bearer let-me-in" };

/** Uses a mounted server as a client does: a call, errors, a subscription, and requests that are aborted. */
export async function runMountStory(url: string): Promise<MountStory> {
  const post = (name: string, input: object, init: RequestInit = {}) =>
    fetch(`${url}/story/${name}`, {
      method: "POST",
      body: JSON.stringify(input),
      headers: { "content-type": "application/json", ...authorization },
      ...init,
    });
  const get = (path: string, init: RequestInit = {}) =>
    fetch(`${url}/story/${path}`, { headers: authorization, ...init });
  const counts = async () => (await (await get("counts")).json()) as { started: number; aborted: number };

  const called = await read(await post("greet", { name: "Ada" }));
  const failed = await read(await post("greet", { name: "stranger" }));
  const refused = await read(await post("greet", { name: "Ada" }, { headers: { "content-type": "application/json" } }));
  const missing = await read(await get("nothing"));
  const streamed = await (await get("count?to=3")).text();

  const { signal, abort } = createAbort();
  const waiting = post("wait", {}, { signal }).catch(() => {});
  const endless = await get("endless", { signal });
  await until(async () => (await counts()).started === 2);
  abort();
  await Promise.allSettled([waiting, endless.text()]);
  await until(async () => (await counts()).aborted === 2);
  return { called, failed, refused, missing, streamed, aborted: (await counts()).aborted };
}

function createAbort(): { signal: AbortSignal; abort(): void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

/** Status and body; of an error only code and details. */
async function read(response: Response): Promise<unknown> {
  const body = (await response.json()) as { code?: string; details?: unknown };
  if (response.ok) return { status: response.status, body };
  const { code, details } = body;
  return { status: response.status, body: response.status === 422 ? { code, details } : { code } };
}
