import type { OperationSource, SourceChange } from "../from/source.ts";
import { formatOperationId, type IOperationDefinition } from "../operation/index.ts";
import { reportRefused } from "./reports.ts";
import type { Following, OperationRegistry } from "./types.ts";

type Target = Pick<OperationRegistry, "getHandler" | "register" | "replace" | "unregister">;

/**
 * Registers what a source has and applies its changes. One operation that is refused leaves the others alone; only
 * operations that came from this source are ever replaced or removed by it.
 */
export async function followSource(target: Target, source: OperationSource, signal: AbortSignal): Promise<Following> {
  /** What came from the source, by id, with the handler that tells whether it is still the source's. */
  const own = new Map<string, IOperationDefinition["handler"]>();
  const waiting: SourceChange[] = [];
  let state: "loading" | "following" | "closed" = "loading";

  const isOwn = (id: string) => own.has(id) && target.getHandler(id) === own.get(id);
  const add = (definition: IOperationDefinition) => {
    let id = "(not an operation)";
    try {
      id = formatOperationId(definition.namespace, definition.name);
      if (isOwn(id)) target.replace(definition);
      else target.register(definition);
      own.set(id, definition.handler);
    } catch (error) {
      reportRefused(source.name, id, error);
    }
  };
  const remove = (id: string) => {
    if (isOwn(id)) target.unregister(id);
    own.delete(id);
  };
  const apply = ({ added, changed, removed }: SourceChange) => {
    for (const id of removed) remove(id);
    for (const definition of [...changed, ...added]) add(definition);
  };

  // Listening starts before loading, so that no change in between is lost.
  const stop = source.onChange?.((change) => {
    if (state === "loading") waiting.push(change);
    else if (state === "following") apply(change);
  });
  try {
    for (const definition of await source.load({ signal })) add(definition);
  } catch (error) {
    stop?.();
    if (signal.aborted) await source.close(); // nobody will try again
    throw error;
  }
  state = "following";
  for (const change of waiting) apply(change);

  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= (async () => {
      state = "closed";
      stop?.();
      for (const id of [...own.keys()]) remove(id);
      await source.close();
    })();
    return closing;
  };
  return { close, [Symbol.asyncDispose]: close };
}
