import type { OperationSource, SourceChange } from "../from/source.ts";
import { formatOperationId, type IOperationDefinition } from "../operation/index.ts";
import { reportRefused } from "./reports.ts";
import type { Following, OperationRegistry } from "./types.ts";

type Target = Pick<OperationRegistry, "has" | "register" | "replace" | "unregister">;

/**
 * Registers what a source has and applies its changes. One operation that is refused leaves the others alone; only
 * operations that came from this source are ever replaced or removed by it.
 */
export async function followSource(target: Target, source: OperationSource): Promise<Following> {
  const own = new Set<string>();
  const waiting: SourceChange[] = [];
  let isLoaded = false;

  const add = (definition: IOperationDefinition) => {
    const id = formatOperationId(definition.namespace, definition.name);
    try {
      if (own.has(id)) target.replace(definition);
      else target.register(definition);
      own.add(id);
    } catch (error) {
      reportRefused(source.name, id, error);
    }
  };
  const remove = (id: string) => {
    if (own.delete(id)) target.unregister(id);
  };
  const apply = ({ added, changed, removed }: SourceChange) => {
    for (const id of removed) remove(id);
    for (const definition of [...changed, ...added]) add(definition);
  };

  // Listening starts before loading, so that no change in between is lost.
  const stop = source.onChange?.((change) => (isLoaded ? apply(change) : waiting.push(change)));
  try {
    for (const definition of await source.load()) add(definition);
  } catch (error) {
    stop?.();
    throw error;
  }
  isLoaded = true;
  for (const change of waiting) apply(change);

  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= (async () => {
      stop?.();
      for (const id of own) target.unregister(id);
      own.clear();
      await source.close();
    })();
    return closing;
  };
  return { close, [Symbol.asyncDispose]: close };
}
