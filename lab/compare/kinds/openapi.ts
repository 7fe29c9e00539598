/** Imported HTTP APIs: operations of generated documents, and their calls. */
import type { Random } from "../../chaos/random.ts";
import { toJSONText } from "../json-text.ts";
import { collect, defineKind, outcomeOf } from "../kind.ts";
import { anyInput, anyResult } from "../operations.ts";
import { anySchema, anyValue, objectSchema, type Schema } from "../schemas.ts";

interface Reply {
  status: number;
  contentType: string;
  body: string;
  headers: Record<string, string>;
}

/** Generates an OpenAPI document. Also used for the command. */
export function anyDocument(random: Random): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (let left = random.integer(1, 4); left > 0; left--) {
    const path = random.pick(["/tasks", "/tasks/{id}", "/files/{name}/lines", "/search"]);
    const method = random.pick(["get", "post", "put", "delete"]);
    paths[path] = { ...paths[path], [method]: anyEntry(random, path, method) };
  }
  return {
    openapi: random.pick(["3.1.0", "3.0.3", "3.1.0"]),
    info: { title: "A generated API", version: "1.0.0" },
    servers: [{ url: "http://localhost:9/api" }],
    paths,
  };
}

function anyEntry(random: Random, path: string, method: string): Record<string, unknown> {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);
  const query = ["limit", "id", "q", "tags"].filter(() => random.chance(0.3));
  const parameters = [
    ...inPath.map((name) => ({ name, in: "path", required: true, schema: { type: "string" } })),
    ...query.map((name) => ({
      name,
      in: random.pick(["query", "query", "header"]),
      required: random.chance(0.2),
      schema: name === "tags" ? { type: "array", items: { type: "string" } } : withoutReferences(anySchema(random, 0)),
    })),
  ];
  const json = (schema: Schema) => ({ "application/json": { schema: withoutReferences(schema) } });
  return {
    ...(random.chance(0.7) && { operationId: `${method}${random.pick(["Task", "Tasks", "File"])}` }),
    ...(random.chance(0.4) && { tags: [random.pick(["a", "b"])] }),
    ...(random.chance(0.4) && { summary: "A summary" }),
    ...(random.chance(0.2) && { deprecated: true }),
    parameters,
    ...(["post", "put"].includes(method) &&
      random.chance(0.8) && { requestBody: { required: random.chance(0.5), content: json(objectSchema(random, 2)) } }),
    responses: {
      ...(random.chance(0.9) && {
        200: {
          description: "ok",
          content: random.chance(0.9) ? json(anySchema(random, 2)) : { "text/event-stream": {} },
        },
      }),
      ...(random.chance(0.2) && { 204: { description: "empty" } }),
      ...(random.chance(0.5) && { 404: { description: "missing", content: json(objectSchema(random, 1)) } }),
      ...(random.chance(0.2) && { default: { description: "other", content: json({ type: "object" }) } }),
    },
  };
}

/** Documents have no `$defs` at the places of their schemas. */
function withoutReferences(schema: Schema): Schema {
  return JSON.stringify(schema).includes("$ref") ? { type: "string" } : schema;
}

function anyReply(random: Random): Reply {
  const status = random.pick([200, 200, 200, 201, 204, 404, 422, 500, 503, 401, 302]);
  const kind = random.pick(["json", "json", "json", "text", "events", "empty", "broken"] as const);
  const value = anyResult(random, anySchema(random, 1));
  const json = toJSONText(value);
  const problem = JSON.stringify(
    random.pick<unknown>([
      { title: "Not here" },
      { message: "no service zzz" },
      { error: { message: "deep" } },
      { detail: "x".repeat(300) },
      anyValue(random),
    ]),
  );
  const bodies = {
    json: status >= 400 ? problem : json,
    text: "plain text",
    events: 'id: 1\ndata: {"a":1}\n\ndata: two\n\n',
    empty: "",
    broken: '{"a":',
  };
  const types = {
    json: "application/json",
    text: "text/plain",
    events: "text/event-stream",
    empty: "",
    broken: "application/json",
  };
  return {
    status,
    contentType: types[kind],
    body: status === 204 ? "" : bodies[kind],
    headers: {
      ...(random.chance(0.2) && { "x-rate": "1" }),
      ...(random.chance(0.1) && { "set-cookie": "a=b" }),
      ...(random.chance(0.1) && { "retry-after": "1" }),
      ...(status === 302 && { location: "http://elsewhere.example/" }),
    },
  };
}

export const openAPI = defineKind({
  name: "openapi",
  weight: 5,
  generate: (random) => ({
    document: anyDocument(random),
    options: {
      ...(random.chance(0.3) && { headers: { "x-own": "1" } }),
      ...(random.chance(0.3) && { auth: { type: "bearer", token: "secret-token" } }),
      ...(random.chance(0.2) && { outputPolicy: random.pick(["check", "strict"]) }),
    },
    follow: random.pick([
      {},
      {},
      { include: ["tag:a"] },
      { namespace: "other" },
      { accessControl: { requiredScopes: ["x"] } },
    ]),
    inputs: Array.from({ length: 6 }, () => ({
      id: random.pick(["1", "a/b", 5]),
      name: "ü",
      ...(random.chance(0.4) && { q: "x y" }),
      ...(random.chance(0.3) && { tags: ["a", "b"] }),
      ...(random.chance(0.5) && { body: anyInput(random, objectSchema(random, 1)) }),
      ...(random.chance(0.1) && { unknown: 1 }),
    })) as Array<Record<string, unknown>>,
    replies: Array.from({ length: 6 }, () => anyReply(random)),
  }),
  run: async ({ document, options, follow, inputs, replies }, { root, fromOpenAPI }) => {
    const registry = new root.OperationRegistry({ log: false });
    const requests: unknown[] = [];
    const reports: unknown[] = [];
    let count = 0;
    const fetch = async (url: string | URL | Request, init?: RequestInit) => {
      const request = new Request(url, init);
      requests.push({
        method: request.method,
        url: request.url,
        headers: Object.fromEntries(request.headers),
        body: await request.text(),
      });
      const { status, body, contentType, headers } = replies[count++ % replies.length]!;
      return new Response(status === 204 ? null : body, {
        status,
        headers: { ...headers, ...(contentType !== "" && { "content-type": contentType }) },
      });
    };
    const source = fromOpenAPI.openAPISource(
      document as never,
      {
        namespace: "api",
        baseUrl: "http://localhost:9/api",
        retry: false,
        breaker: false,
        ...options,
        fetch: fetch as never,
      } as never,
    );
    const followed = await outcomeOf(() =>
      registry.follow(source, { ...follow, onReport: (report) => reports.push(report) }),
    );
    const specs = registry.getAllSpecs();
    const outcomes = [];
    for (const [index, spec] of specs.entries()) {
      const id = `${spec.namespace}.${spec.name}`;
      const known = Object.keys((spec.inputSchema as { properties?: object }).properties ?? {});
      for (const input of [inputs[index % 6]!, inputs[(index + 3) % 6]!]) {
        const chosen = Object.fromEntries(
          Object.entries(input).filter(([name]) => known.includes(name) || name === "unknown"),
        );
        const options = { identity: { id: "ada", scopes: ["x"] }, timeout: 5_000 };
        outcomes.push(
          await outcomeOf(() =>
            spec.type === "subscription"
              ? collect(registry.subscribe(id, chosen, options), 3)
              : registry.execute(id, chosen, options),
          ),
        );
      }
    }
    await registry.close();
    return { failed: (followed as { thrown?: unknown }).thrown, specs, outcomes, requests, reports };
  },
});
