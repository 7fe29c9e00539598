import { createLookup } from "../internal/lookup.ts";
import {
  CallError,
  type CallOptions,
  type MCPContentBlock,
  type ResponseEnvelope,
  type SubscribeOptions,
} from "../operation/index.ts";
import type { ClientAny, ClientOptions } from "./client-types.ts";
import type { RegistryCore } from "./core.ts";
import { executeMerged, mergeOptions } from "./env.ts";
import { Subscription } from "./subscription.ts";

type AnyOperation = ClientAny<unknown, unknown>;

/** Names that the language or a test tool reads of every object. They are found only where there is one of that name. */
const probedNames: ReadonlySet<string> = new Set([
  ...["then", "toJSON", ...Object.getOwnPropertyNames(Object.prototype)],
  ...["asymmetricMatch", "$$typeof", "nodeType", "tagName", "hasAttribute"],
]);

/** Makes the client of a registry. Unknown names give a function too, whose call says what was probably meant. */
export function createClient(core: RegistryCore, options: ClientOptions): Record<string, Record<string, AnyOperation>> {
  return createLookup({
    label: "client",
    find(namespace) {
      if (core.namesIn(namespace) === undefined && probedNames.has(namespace)) return undefined;
      return createNamespace(core, namespace, options);
    },
    names: () => core.namespaces(),
    keeps: (namespace) => core.namesIn(namespace) !== undefined,
  });
}

function createNamespace(core: RegistryCore, namespace: string, options: ClientOptions): Record<string, AnyOperation> {
  return createLookup({
    label: `client.${namespace}`,
    find(name) {
      if (probedNames.has(name) && core.namesIn(namespace)?.has(name) !== true) return undefined;
      return createOperation(core, `${namespace}.${name}`, options);
    },
    names: () => core.namesIn(namespace)?.keys() ?? [],
    keeps: (name) => core.namesIn(namespace)?.has(name) === true,
  });
}

function createOperation(core: RegistryCore, id: string, base: ClientOptions): AnyOperation {
  const isSubscription = () => core.entry(id)?.isSubscription === true;
  const run = (input: unknown, options?: CallOptions) => executeMerged(core, id, input, base, options);
  const iterate = (input: unknown, options?: SubscribeOptions) =>
    new Subscription(core, id, input, mergeOptions(base, options));

  const call = (input?: unknown, options?: SubscribeOptions) =>
    isSubscription() ? dataOf(iterate(input, options)) : run(input, options).then(toData);
  const envelope = (input?: unknown, options?: SubscribeOptions) =>
    isSubscription() ? iterate(input, options) : run(input, options);
  async function* pages(input?: unknown, options?: CallOptions) {
    for (let page: unknown = input, last = false; !last; ) {
      const answer = await run(page, options);
      page = core.entry(id)?.nextPage?.(page, answer);
      last = page === undefined;
      yield answer;
    }
  }
  return Object.assign(call, { envelope, pages }) as unknown as AnyOperation;
}

/** The data of each value; leaving it leaves the subscription at once. */
function dataOf(source: Subscription): AsyncIterableIterator<unknown> & AsyncDisposable {
  return {
    next: async () => {
      const { done, value } = await source.next();
      return done ? { done, value: undefined } : { done: false, value: value.data };
    },
    return: () => source.return(),
    throw: (error) => source.throw(error),
    [Symbol.asyncIterator]() {
      return this;
    },
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
}

function toData({ data, meta }: ResponseEnvelope): unknown {
  if (meta.source !== "mcp" || !meta.isError) return data;
  throw new CallError("EXECUTION_ERROR", firstText(meta.content) ?? "The tool reported an error.", {
    content: meta.content,
    data,
  });
}

function firstText(content: MCPContentBlock[]): string | undefined {
  for (const block of content) if (block.type === "text" && block.text !== "") return block.text.slice(0, 1_000);
  return undefined;
}
