import type { Ajv, ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import * as draft04 from "ajv-draft-04";

type Node = Record<string, unknown>;

/**
 * A `fetch` that holds every request against the document itself: path, required parameters, content type and body, the
 * latter with Ajv on the document's own schemas. Knows nothing of the import.
 */
export class ValidatingMock {
  readonly problems: string[] = [];
  readonly #spec: Node;
  readonly #ajv: Pick<Ajv, "compile" | "addSchema">;
  /** The method entry that is called next. */
  pointer = "";

  constructor(spec: object) {
    this.#spec = spec as Node;
    const options = { strict: false, validateFormats: false, validateSchema: false, logger: false } as const;
    const isModern = /^3\.[1-9]/.test(String(this.#spec["openapi"]));
    // The package is CommonJS: its class is the default of its default.
    const AjvDraft04 = (draft04.default as unknown as { default: typeof Ajv }).default;
    this.#ajv = isModern ? new Ajv2020(options) : new AjvDraft04(options);
    this.#ajv.addSchema(forAjv(this.#spec), "https://document.test/");
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    const problem = await this.#problemOf(request).catch((error: unknown) => `mock: ${String(error)}`);
    if (problem !== undefined) this.problems.push(`${this.pointer}: ${problem}`);
    return Response.json({});
  };

  async #problemOf(request: Request): Promise<string | undefined> {
    const [, path = "", method = ""] = /^#\/paths\/([^/]*)\/(.*)$/.exec(this.pointer) ?? [];
    const template = decode(path);
    const item = this.#resolve((this.#spec["paths"] as Node)[template]);
    const operation = method.split("/").reduce<Node>((node, key) => node[decode(key)] as Node, item);
    const { pathname, searchParams } = new URL(request.url);
    if (!templateExpression(template).test(pathname)) return `path ${pathname} does not fit ${template}`;
    for (const parameter of [...list(item["parameters"]), ...list(operation["parameters"])].map((raw) =>
      this.#resolve(raw),
    )) {
      const name = String(parameter["name"]);
      if (parameter["required"] !== true) continue;
      const isArray = (parameter["schema"] as Node | undefined)?.["type"] === "array" || parameter["type"] === "array";
      if (parameter["in"] === "query" && !searchParams.has(name) && !isArray && !request.url.includes(`${name}%5B`)) {
        return `query parameter ${name} is missing`;
      }
    }
    return this.#bodyProblem(request, operation, this.pointer);
  }

  async #bodyProblem(request: Request, operation: Node, pointer: string): Promise<string | undefined> {
    const body = operation["requestBody"] === undefined ? undefined : this.#resolve(operation["requestBody"]);
    if (body === undefined || request.method === "GET") return undefined;
    const sent = (request.headers.get("content-type") ?? "").split(";")[0]!;
    if (sent === "") return body["required"] === true ? "the body is missing" : undefined;
    const content = body["content"] as Node;
    const declared = Object.keys(content).find((type) => type.split(";")[0]!.toLowerCase() === sent);
    if (declared === undefined) return Object.keys(content).includes("*/*") ? undefined : `${sent} is not declared`;
    if (!/[/+]json$/.test(sent)) return undefined;
    const schema = (content[declared] as Node)["schema"] as Node | undefined;
    if (schema === undefined) return undefined;
    const place = this.#pointerOf(operation["requestBody"] as Node, `${pointer}/requestBody`);
    const check = this.#compile(`${place}/content/${encode(declared)}/schema`);
    return check(await request.json()) ? undefined : `body: ${JSON.stringify(check.errors?.[0])}`;
  }

  #compile(pointer: string): ValidateFunction {
    const fragment = pointer.slice(1).split("/").map(encodeURIComponent).join("/").replaceAll("%7E", "~");
    return this.#ajv.compile({ $ref: `https://document.test/#${fragment}` });
  }

  #resolve(node: unknown): Node {
    let current = node as Node;
    while (typeof current["$ref"] === "string") {
      current = current["$ref"]
        .slice(2)
        .split("/")
        .reduce<Node>((at, key) => at[decode(decodeURIComponent(key))] as Node, this.#spec);
    }
    return current;
  }

  #pointerOf(node: Node, pointer: string): string {
    return typeof node["$ref"] === "string" ? this.#pointerOf(this.#resolve({ ...node }), node["$ref"]) : pointer;
  }
}

/**
 * What Ajv cannot read as it stands: an `id` in an example would name a schema, `nullable` needs a `type` beside it, some
 * bounds are draft 4's in 3.1. And what it does not know of OpenAPI: a `readOnly` property is not required of a request,
 * and what a discriminator decides need not be distinguished by `oneOf`.
 */
function forAjv(spec: Node): Node {
  return JSON.parse(JSON.stringify(spec), (key, value) => {
    if (/^(examples?|x-.*)$/.test(key)) return undefined;
    if (key.startsWith("exclusiveM") && typeof value === "boolean") return undefined;
    if (typeof value !== "object" || value === null) return value;
    const { properties, required } = value;
    if (properties && Array.isArray(required)) {
      value.required = required.filter((name: string) => properties[name]?.readOnly !== true);
    }
    if (value["nullable"] !== undefined && value["type"] === undefined) delete value["nullable"];
    if (value["discriminator"] === undefined || value["oneOf"] === undefined) return value;
    const { oneOf, discriminator, ...rest } = value;
    return { ...rest, anyOf: oneOf };
  });
}

function templateExpression(template: string): RegExp {
  const literal = template.replace(/[?#].*$/s, "").split(/\{[^{}]*\}/);
  return new RegExp(`${literal.map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("[^/]+")}$`);
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function decode(token: string): string {
  return token.replaceAll("~1", "/").replaceAll("~0", "~");
}

function encode(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}
