import { type MCPSourceConfig, mcpSource } from "../from/mcp/index.ts";
import { openAPISource } from "../from/openapi/index.ts";
import type { OperationSource, SourceReport } from "../from/source.ts";
import { getOwn } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { type WaitFailure, waitFor } from "../internal/wait.ts";
import {
  CallError,
  formatOperationId,
  type Identity,
  type OperationSpec,
  type ResponseEnvelope,
} from "../operation/index.ts";
import { coreOf, createRegistry, type Middleware, type OperationRegistry } from "../registry/index.ts";
import { usageError } from "./failures.ts";
import { redirectOutput, toPrintableLine } from "./output-stream.ts";
import type { ListOptions, Target, TargetCallOptions, TargetContext } from "./target.ts";

/** Maximum number of operations that a search returns. */
const maxFound = 100;

/** Opens the one source that the options name, in a registry of its own. */
export async function openSource(context: TargetContext, timeout: number): Promise<Target> {
  const { options, signal, stderr } = context;
  redirectOutput(stderr); // Warnings about foreign data contain foreign strings.
  const { source, label } = createSource(context, timeout);
  const registry: OperationRegistry = createRegistry({ operations: [] });
  const target = new RegistryTarget(
    label,
    registry,
    () => undefined,
    () => registry.close(),
  );
  if (options.openapi !== undefined && options["base-url"] === undefined)
    registry.use(refuseOtherOrigin(options.openapi));
  const following = registry.follow(source, { onReport: (report) => void reportSkipped(context, report) });
  try {
    await waitFor(following, { timeout, signal }, (failure) => notReady(label, failure, timeout));
    return target;
  } catch (error) {
    await target.close();
    throw error;
  }
}

function notReady(label: string, failure: WaitFailure, timeout: number): CallError {
  if (failure === "ABORTED") return new CallError("ABORTED", `Connecting to ${quote(label)} was interrupted.`);
  const message = `${quote(label)} did not become ready within ${timeout} ms. Pass a longer --timeout.`;
  return new CallError("TIMEOUT", message, undefined, { mayHaveRun: false });
}

function createSource({ options }: TargetContext, timeout: number): { source: OperationSource; label: string } {
  if (options.openapi !== undefined) {
    const config = { namespace: "api", baseUrl: options["base-url"] };
    return { source: openAPISource(options.openapi, config), label: toLabel(options.openapi) };
  }
  const server: MCPSourceConfig = { name: "mcp", timeouts: { connect: timeout } };
  if (options.mcp !== undefined)
    return { source: mcpSource({ ...server, url: options.mcp }), label: toLabel(options.mcp) };
  const [command, ...args] = splitCommand(options["mcp-command"]!);
  return { source: mcpSource({ ...server, command, args }), label: command! };
}

/** A path, or a URL without its credentials, query and fragment, which may be secret. */
function toLabel(place: string): string {
  const url = URL.canParse(place) ? new URL(place) : undefined;
  return url === undefined || url.origin === "null" ? place : url.origin + url.pathname;
}

/** A document decides where requests go. It is trusted only with its own origin; a file does not have one. */
export function refuseOtherOrigin(document: string): Middleware {
  const own = URL.canParse(document) ? new URL(document).origin : undefined;
  return ({ spec }, next) => {
    const server = getOwn(getOwn(spec._meta, "openapi"), "server");
    if (typeof server === "string" && new URL(server).origin === own) return next();
    throw usageError(
      `${quote(toLabel(document))} sends requests to ${quote(String(server))}, which is another origin. Pass --base-url ${server} to allow it.`,
    );
  };
}

/** Operations that a source skips are missing in lists, so the user is notified. */
async function reportSkipped({ stderr, options }: TargetContext, { skipped }: SourceReport): Promise<void> {
  if (options.json || skipped.length === 0) return;
  const lines = skipped.map(({ where, reason }) => `warning: ${toPrintableLine(`${where}: ${reason}`)}\n`);
  await stderr.write(lines.join("")).catch(() => {});
}

/**
 * Splits a command line into a program and its arguments, without a shell: spaces separate, quotes group, and a
 * backslash outside single quotes keeps the next character. Nothing is expanded.
 */
export function splitCommand(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quotedBy: string | undefined;
  for (let index = 0; index < line.length; index++) {
    const character = line[index]!;
    if (character === "\\" && quotedBy !== "'" && index + 1 < line.length) word = (word ?? "") + line[++index]!;
    else if (character === quotedBy) quotedBy = undefined;
    else if (quotedBy === undefined && (character === '"' || character === "'")) {
      quotedBy = character;
      word ??= "";
    } else if (quotedBy === undefined && /\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + character;
  }
  if (quotedBy !== undefined) throw usageError(`The command of --mcp-command has a ${quotedBy} that is not closed.`);
  if (word !== undefined) words.push(word);
  if (words.length === 0) throw usageError("The option --mcp-command requires a program and its arguments.");
  return words;
}

/** The operations of a registry in this process. */
export class RegistryTarget implements Target {
  readonly label: string;
  readonly #registry: OperationRegistry;
  readonly #identity: () => Identity | undefined;
  readonly #close: () => Promise<void>;

  /**
   * @param identity returns the caller
   * @param close ends everything that was started
   */
  constructor(
    label: string,
    registry: OperationRegistry,
    identity: () => Identity | undefined,
    close: () => Promise<void>,
  ) {
    this.label = label;
    this.#registry = registry;
    this.#identity = identity;
    this.#close = close;
  }

  async list(query?: string, { brief = false }: ListOptions = {}): Promise<OperationSpec[]> {
    const registry = this.#registry;
    const specs = query === undefined ? registry.getAllSpecs() : registry.search(query, { limit: maxFound });
    // Publishing a spec reads its schemas, which a source may not have read yet.
    return brief ? specs : specs.map(({ namespace, name }) => this.#publish(formatOperationId(namespace, name))!);
  }

  async find(id: string): Promise<OperationSpec | undefined> {
    const published = this.#publish(id);
    const _meta = coreOf(this.#registry).operations.get(id)?.spec._meta; // Where it comes from, for its operator.
    return published && _meta ? { ...published, _meta } : published;
  }

  call(id: string, input: unknown, options?: TargetCallOptions): Promise<ResponseEnvelope> {
    return this.#registry.execute(id, input, { ...options, identity: this.#identity() });
  }

  subscribe(id: string, input: unknown, options?: TargetCallOptions): AsyncIterable<ResponseEnvelope> {
    return this.#registry.subscribe(id, input, { ...options, identity: this.#identity() });
  }

  close(): Promise<void> {
    return this.#close();
  }

  #publish(id: string): OperationSpec | undefined {
    return coreOf(this.#registry).operations.get(id)?.published;
  }
}
