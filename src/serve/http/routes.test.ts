import { describe, expect, test } from "vitest";
import type { SourceReport } from "../../from/source.ts";
import { defineOperation, FromOpenAPI, type IOperationDefinition, OperationRegistry, Type } from "../../index.ts";
import { type ServeHTTPOptions, serveHTTP } from "./index.ts";
import { operation, read, serve } from "./testing.ts";

/** A server, and the last report about its routes. */
function serveReported(operations: readonly IOperationDefinition[], options: Partial<ServeHTTPOptions> = {}) {
  const reports: SourceReport[] = [];
  const served = serve(operations, { onReport: (report) => reports.push(report), ...options });
  return { ...served, reports };
}

const item = Type.Object({ id: Type.Integer(), title: Type.Optional(Type.String()) });

describe("default routes", () => {
  test.each([
    ["issues/create all", "/task/issues/create%20all"],
    ["größe", "/task/gr%C3%B6%C3%9Fe"],
    ["a%2Fb", "/task/a%252Fb"],
    ["what?", "/task/what%3F"],
    ["a.b~c", "/task/a.b~c"],
    ["//", "/task///"],
    ["__proto__", "/task/__proto__"],
  ])("of %s is %s", async (name, path) => {
    const { send } = serve([operation(name, { handler: () => name })]);
    expect(await read(await send(path))).toMatchObject({ status: 200, body: name });
  });

  test("another encoding of the same path is the same route", async () => {
    const { get } = serve([operation("a(b)")]);
    expect((await get("/t%61sk/a%28b%29")).status).toBe(200);
    expect((await get("/task/a(b)")).status).toBe(200);
  });

  test("an encoded slash is not a separator", async () => {
    const { get } = serve([operation("a/b"), { ...operation("c"), namespace: "task/x" }]);
    expect((await get("/task/a%2Fb")).status).toBe(404);
    expect((await get("/task/x/c")).status).toBe(404);
    expect((await get("/task%2Fx/c")).status).toBe(200);
  });

  test("names with dot segments are skipped and reported", async () => {
    const withRoute = operation("a/../b", { _meta: { serve: { http: "GET /dots" } } });
    const { get, reports } = serveReported([withRoute, operation("."), operation("a..b")]);
    expect((await get("/dots")).status).toBe(404);
    const reason = "a URL cannot have the segment . or .. of its name; rename it to serve it over HTTP";
    expect(reports).toEqual([
      {
        imported: ["task.a..b"],
        skipped: [
          { where: "task.a/../b", reason },
          { where: "task..", reason },
        ],
        warnings: [],
      },
    ]);
  });

  test("malformed percent-encoding is not found", async () => {
    const { get } = serve([operation("a")]);
    expect((await get("/task/%zz")).status).toBe(404);
  });

  test("follow the changes of the registry", async () => {
    const { registry, get } = serve([operation("a")]);
    registry.register(operation("b"));
    registry.unregister("task.a");
    expect([(await get("/task/a")).status, (await get("/task/b")).status]).toEqual([404, 200]);
  });

  test("only selected operations are served or suggested", async () => {
    const { get } = serve([operation("list"), operation("lost")], { exclude: ["task.lost"] });
    expect(await get("/task/lost")).toMatchObject({
      status: 404,
      body: { detail: 'No operation "task.lost". Did you mean "task.list"?' },
    });
    expect((await get("/task/losr")).body.details.nearest).toBe("task.list");
    expect((await get("/task%2Flist")).body.detail).toBe('No operation "task%2Flist". Did you mean "task.list"?');
  });

  test("are below the path at which the server is mounted", async () => {
    const { server } = serve([operation("a")]);
    const at = async (path: string, basePath: string) =>
      (await server.fetch(new Request(`http://localhost${path}`), { basePath })).status;
    const found = [at("/api/task/a", "/api"), at("/api/task/a", "/api/"), at("/task/a", "/"), at("/task/a", "")];
    expect(await Promise.all(found)).toEqual([200, 200, 200, 200]);
    expect(await Promise.all([at("/apitask/a", "/api"), at("/apitask/a", "/api/")])).toEqual([404, 404]);
  });
});

describe("routes of definitions", () => {
  const definitions = [
    defineOperation({
      namespace: "task",
      name: "get",
      type: "query",
      http: "GET /tasks/{id}",
      inputSchema: item,
      outputSchema: Type.Unknown(),
      handler: (input) => ({ got: input }),
    }),
    defineOperation({
      namespace: "task",
      name: "update",
      type: "mutation",
      http: "PUT /tasks/{id}",
      inputSchema: item,
      outputSchema: Type.Unknown(),
      handler: (input) => ({ updated: input }),
    }),
    defineOperation({
      namespace: "task",
      name: "delete",
      type: "mutation",
      http: "DELETE /tasks/{taskId}",
      inputSchema: Type.Object({ taskId: Type.Integer() }),
      outputSchema: Type.Unknown(),
      handler: (input) => ({ deleted: input }),
    }),
  ];
  const put = (body: unknown) => ({
    method: "PUT",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
  });

  test("have path parameters and the rest in the query or the body, beside the default routes", async () => {
    const { get, send, post } = serve(definitions);
    expect((await get("/tasks/7?title=x")).body).toEqual({ got: { id: 7, title: "x" } });
    expect((await get("/task/get?id=7")).body).toEqual({ got: { id: 7 } });
    expect((await read(await send("/tasks/7", put({ title: "x" })))).body).toEqual({ updated: { id: 7, title: "x" } });
    expect((await read(await post("/task/update", { id: 7 }))).body).toEqual({ updated: { id: 7 } });
    expect((await read(await send("/tasks/7", { method: "DELETE" }))).body).toEqual({ deleted: { taskId: 7 } });
  });

  test("share a path by method", async () => {
    const { send } = serve(definitions);
    const response = await send("/tasks/7", { method: "PATCH" });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD, PUT, DELETE, OPTIONS"]);
  });

  test("have the values of the path that matched, after others with the same beginning did not", async () => {
    const routes = { "task.a": "GET /x/{id}/one", "task.b": "GET /{id}/y/two" };
    const inputSchema = Type.Object({ id: Type.String() });
    const { get } = serve([operation("a", { inputSchema }), operation("b", { inputSchema })], { routes });
    expect((await get("/x/y/two")).body).toEqual({ id: "x" });
    expect((await get("/x/y/one")).body).toEqual({ id: "y" });
  });

  test("refuse a value that is in the path and in the body", async () => {
    const { send } = serve(definitions);
    expect(await read(await send("/tasks/7", put({ id: 8 })))).toMatchObject({
      status: 400,
      body: { details: { errors: [{ path: "/id", message: "must not be in the body, because it is in the URL" }] } },
    });
  });

  test("check the body also if all properties are in the path", async () => {
    const { send } = serve(definitions, { limits: { requestBytes: 1_000 } });
    const statusOf = async (body: string, type = "application/json") => {
      const response = await send("/tasks/7", { method: "DELETE", body, headers: { "content-type": type } });
      return (await read(response)).status;
    };
    expect([await statusOf("{}"), await statusOf(""), await statusOf("", "text/plain")]).toEqual([200, 200, 200]);
    expect([await statusOf("x", "text/plain"), await statusOf(`"${"x".repeat(1_000)}"`)]).toEqual([415, 413]);
    expect([await statusOf("{"), await statusOf("[]"), await statusOf('{"taskId":8}')]).toEqual([400, 400, 400]);
  });

  test("have decoded values, which are not empty", async () => {
    const named = operation("named", {
      inputSchema: Type.Object({ name: Type.String() }),
      _meta: { serve: { http: "GET /named/{name}/x" } },
    });
    const { get } = serve([named]);
    expect((await get("/named/a%2Fb%20c/x")).body).toEqual({ name: "a/b c" });
    expect((await get("/named//x")).status).toBe(404);
  });

  test("are replaced by those of the operator", async () => {
    const { get } = serve(definitions, { routes: { "task.get": "GET /todo/{id}" } });
    expect((await get("/todo/7")).body).toEqual({ got: { id: 7 } });
    expect((await get("/tasks/7")).status).toBe(405);
  });

  test.each([
    ["GET /x", "mutation", "a mutation is not called with GET"],
    ["DELETE /x", "query", "a query is called with GET or POST"],
    ["GET /x/{no}", "query", 'the input has no property "no"'],
    ["GET /x/{tags}", "query", 'the property "tags" is not a string, a number or a boolean'],
    ["GET /x/{id}/{id}", "query", "it has two parameters with the same name"],
    ["GET /x/{id}.json", "query", 'a route is a method and a path, such as "GET /tasks/{id}"'],
    ["GET /x/../y", "query", 'a route is a method and a path, such as "GET /tasks/{id}"'],
    ["GET /./x", "query", 'a route is a method and a path, such as "GET /tasks/{id}"'],
    ["FETCH /x", "query", 'a route is a method and a path, such as "GET /tasks/{id}"'],
    ["GET /openapi.json", "query", "it is taken"],
    ["GET /task/other", "query", "it is taken"],
  ])("that are not possible are reported: %s of a %s", async (route, type, reason) => {
    const inputSchema = Type.Object({ id: Type.Integer(), tags: Type.Array(Type.String()) });
    const { reports } = serveReported([operation("a", { type: type as "query", inputSchema }), operation("other")], {
      routes: { "task.a": route },
    });
    expect(reports[0]!.warnings).toEqual([
      { where: "task.a", reason: `the route ${JSON.stringify(route)} is not served: ${reason}` },
    ]);
  });

  test("of operations that are not served are reported", async () => {
    const options = { routes: { "task.b": "GET /b", "task.c": "GET /c", constructor: "GET /d" }, exclude: ["task.c"] };
    const { reports } = serveReported([operation("a"), operation("c")], options);
    const reasonFor = (route: string) => `the route "${route}" is not served: the server has no such operation`;
    expect(reports[0]!.warnings).toEqual([
      { where: "task.b", reason: reasonFor("GET /b") },
      { where: "task.c", reason: reasonFor("GET /c") },
      { where: "constructor", reason: reasonFor("GET /d") },
    ]);
  });

  test.each(["GET /task/a", "POST /task/a"])(
    "may be the default route, which the document then describes: %s",
    async (route) => {
      const { get, reports } = serveReported([operation("a")], { routes: { "task.a": route } });
      const [method, path] = route.split(" ");
      expect(reports[0]!.warnings).toEqual([]);
      expect(Object.keys((await get("/openapi.json")).body.paths[path!])).toEqual([method!.toLowerCase()]);
    },
  );

  test("an operation of a source never chooses its route, unless the source is code of this program", async () => {
    const follow = async (definesRoutes: boolean) => {
      const registry = new OperationRegistry();
      const foreign = operation("a", { _meta: { serve: { http: "GET /taken" }, other: 1 } });
      await registry.follow({ name: "x", traits: { definesRoutes }, load: async () => [foreign], async close() {} });
      const server = serveHTTP(registry, { authenticate: "none" });
      const { status } = await server.fetch(new Request("http://localhost/taken"));
      await server.close();
      return { status, meta: registry.getSpec("task.a")?._meta };
    };
    expect(await follow(false)).toEqual({ status: 404, meta: { other: 1 } });
    expect(await follow(true)).toEqual({ status: 200, meta: { serve: { http: "GET /taken" }, other: 1 } });
  });
});

describe("routes of imported APIs", () => {
  const json = (schema: object) => ({ content: { "application/json": { schema } } });
  const integer = { type: "integer" };
  const imported = FromOpenAPI(
    {
      openapi: "3.1.0",
      info: { title: "Shop", version: "1" },
      paths: {
        "/items/{id}": {
          parameters: [{ name: "id", in: "path", required: true, schema: integer }],
          get: { operationId: "get", parameters: [{ name: "id", in: "query", schema: integer }], responses: {} },
          put: { operationId: "put", requestBody: json({ type: "object" }), responses: {} },
        },
        "/shelves/{shelf}/items/{item}": {
          parameters: [
            { name: "item", in: "path", required: true, schema: integer },
            { name: "shelf", in: "path", required: true, schema: { type: "string" } },
          ],
          get: { operationId: "take", responses: {} },
        },
        "/search": {
          get: {
            operationId: "search",
            parameters: [{ name: "q", in: "query", schema: { type: "string" } }],
            responses: {},
          },
        },
        "/headers": {
          get: { operationId: "headers", parameters: [{ name: "x", in: "header", schema: integer }], responses: {} },
        },
        "/styles": {
          get: {
            operationId: "styles",
            parameters: [{ name: "x", in: "query", explode: false, schema: { type: "array", items: integer } }],
            responses: {},
          },
        },
        "/forms": {
          post: {
            operationId: "forms",
            requestBody: { content: { "multipart/form-data": { schema: { type: "object" } } } },
            responses: {},
          },
        },
        "/files/{name}.json": {
          get: {
            operationId: "files",
            parameters: [{ name: "name", in: "path", required: true, schema: { type: "string" } }],
            responses: {},
          },
        },
      },
    },
    { namespace: "shop", baseUrl: "http://127.0.0.1:9" },
  ).map((one) => ({ ...operation(one.name), ...one, handler: (input: unknown) => input, namespace: "shop" }));

  test("are kept below the namespace on request", async () => {
    const { get, send, reports } = serveReported(imported, { keepRoutes: true });
    expect((await get("/shop/items/7?id=8")).body).toEqual({ id: 7, query_id: 8 });
    const body = JSON.stringify({ a: 1 });
    const put = { method: "PUT", body, headers: { "content-type": "application/json" } };
    expect((await read(await send("/shop/items/7", put))).body).toEqual({ id: 7, body: { a: 1 } });
    expect((await get("/shop/shelves/top/items/3")).body).toEqual({ shelf: "top", item: 3 });
    expect((await get("/shop/search?q=mug")).body).toEqual({ q: "mug" }); // The default route, which is not reported.
    expect((await get("/shop/headers?x=1")).body).toEqual({ x: 1 });
    expect(reports[0]!.warnings).toEqual([
      { where: "shop.headers", reason: 'it keeps its default route: the parameter "x" is in the header' },
      {
        where: "shop.styles",
        reason:
          'it keeps its default route: the parameter "x" is not a primitive value or a list of them in style "form"',
      },
      { where: "shop.forms", reason: "it keeps its default route: its body is not only JSON" },
      {
        where: "shop.files",
        reason: 'it keeps its default route: "GET /shop/files/{name}.json" is not a route of this server',
      },
    ]);
  });

  test("check bodies of operations without one, and do not replace a default route that reads another input", async () => {
    const withQuery = { parameters: [{ name: "hard", in: "query", schema: { type: "boolean" } }], responses: {} };
    const [remove, reset] = FromOpenAPI(
      {
        openapi: "3.1.0",
        info: { title: "Shop", version: "1" },
        paths: { "/items": { delete: { operationId: "remove", ...withQuery } }, "/reset": { post: withQuery } },
      },
      { namespace: "shop", baseUrl: "http://127.0.0.1:9" },
    ).map((one) => ({ ...operation(one.name), ...one, handler: (input: unknown) => input, namespace: "shop" }));
    const { send, reports } = serveReported([remove!, { ...reset!, name: "reset" }], { keepRoutes: true });
    const response = await send("/shop/items?hard=true", { method: "DELETE" });
    expect(await read(response)).toMatchObject({ status: 200, body: { hard: true } });
    expect((await send("/shop/items", { method: "DELETE", body: "x" })).status).toBe(415);
    expect(reports[0]!.warnings).toEqual([
      { where: "shop.reset", reason: 'it keeps its default route: "POST /shop/reset" is taken' },
    ]);
  });

  test("are not served without that", async () => {
    const { get } = serve(imported);
    expect((await get("/shop/items/7")).status).toBe(404);
    expect((await get("/shop/get?id=7")).body).toEqual({ id: 7 });
  });
});
