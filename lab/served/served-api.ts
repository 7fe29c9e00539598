import { isDeepStrictEqual } from "node:util";
import { OperationRegistry, type OperationRegistry as Registry } from "@alkdev/operations";
import { type OpenAPISpec, openAPISource } from "@alkdev/operations/from-openapi";
import { serveHTTP } from "@alkdev/operations/serve-http";
import fc from "fast-check";
import { sample } from "../../test/corpora/sample.ts";
import { ValidatingMock } from "../../test/corpora/validating-mock.ts";

/** The result of {@link callServedAPI}. */
export interface ServedAPICheck {
  /** Number of operations in the document of the server. */
  operations: number;
  called: number;
  problems: string[];
}

interface ImportedMeta {
  method: string;
  path: string;
  pointer: string;
}

/**
 * Imports an API, serves it, imports that server with and without trust, and calls operations in all three registries.
 * The API is a server that checks each request against the original document. All results must be the same.
 */
export async function callServedAPI(
  spec: OpenAPISpec,
  { keepRoutes, count }: { keepRoutes: boolean; count: number },
): Promise<ServedAPICheck> {
  const mock = new ValidatingMock(spec);
  const config = { namespace: "api", baseUrl: "http://127.0.0.1/", onReport: () => {} };
  await using direct = await follow(openAPISource(spec, { ...config, fetch: mock.fetch }));
  await using server = serveHTTP(direct, { authenticate: "none", keepRoutes, onReport: () => {} });
  const fetch: typeof globalThis.fetch = async (input, init) => server.fetch(new Request(input, init));
  const url = "http://localhost/openapi.json";
  await using trusted = await follow(openAPISource(url, { trust: "operations", fetch }));
  await using plain = await follow(openAPISource(url, { namespace: "served", fetch }));

  const problems: string[] = [];
  let called = 0;
  const [ids] = fc.sample(
    fc.shuffledSubarray(
      direct.list().map(({ name }) => `api.${name}`),
      { minLength: direct.list().length },
    ),
    { seed: 12, numRuns: 1 },
  );
  for (const id of ids ?? []) {
    if (called === count) break;
    const { inputSchema, type } = direct.getSpec(id)!;
    if (type === "subscription") continue;
    const input = sample(inputSchema);
    const { pointer } = metaOf(direct, id);
    mock.pointer = pointer;
    const before = mock.problems.length;
    const expected = await outcomeOf(direct, id, input);
    // Some inputs are too hard to make up.
    if (mock.problems.splice(before).length > 0 || expected.error !== undefined) continue;
    called += 1;
    const served = metaOf(plain, `served.${id}`);
    const isBody =
      served.method === "POST" && served.path === `/api/${id.slice(4).split("/").map(encodeURIComponent).join("/")}`;
    const outcomes = {
      trusted: await outcomeOf(trusted, id, input),
      plain: await outcomeOf(plain, `served.${id}`, isBody ? { body: input } : input),
    };
    for (const [kind, outcome] of Object.entries(outcomes)) {
      if (!isDeepStrictEqual(outcome, expected)) {
        problems.push(`${id} (${kind}): ${JSON.stringify(outcome)} instead of ${JSON.stringify(expected)}`);
      }
    }
    problems.push(...mock.problems.splice(0));
  }
  return { operations: plain.list().length, called, problems };
}

async function follow(source: Parameters<Registry["follow"]>[0]): Promise<Registry> {
  const registry = new OperationRegistry({ log: false });
  await registry.follow(source);
  return registry;
}

function metaOf(registry: Registry, id: string): ImportedMeta {
  return registry.getSpec(id)!._meta!["openapi"] as ImportedMeta;
}

async function outcomeOf(registry: Registry, id: string, input: unknown): Promise<{ data?: unknown; error?: string }> {
  try {
    const { data } = await registry.execute(id, input);
    return { data };
  } catch (error) {
    return { error: String(error) };
  }
}
