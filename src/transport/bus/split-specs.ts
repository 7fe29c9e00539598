import { createWarnOnce, logger } from "../../internal/log.ts";
import { formatOperationId, type OperationSpec } from "../../operation/index.ts";

const warnOnce = createWarnOnce(logger("transport", "bus"));

/** Specs in parts, and the ids of those that do not fit into any message. */
export interface SplitSpecs {
  parts: OperationSpec[][];
  omitted: string[];
}

/**
 * Lists of specs of which each fits into a message of about `maxPart` bytes, a larger spec alone into one of `maxSpec`. A
 * spec above that is omitted and reported.
 */
export function splitSpecs(specs: readonly OperationSpec[], maxPart: number, maxSpec: number): SplitSpecs {
  const parts: OperationSpec[][] = [];
  const omitted: string[] = [];
  let room = 0;
  for (const spec of specs) {
    const size = Buffer.byteLength(JSON.stringify(spec));
    if (size > maxSpec) {
      const operationId = formatOperationId(spec.namespace, spec.name);
      omitted.push(operationId);
      const message = "{operationId} is not announced: its spec has {size} bytes, and a message may have {maxSpec}.";
      warnOnce(operationId, message, { operationId, size, maxSpec: Math.floor(maxSpec) });
      continue;
    }
    if (size > room) {
      parts.push([]);
      room = maxPart;
    }
    parts.at(-1)!.push(spec);
    room -= size;
  }
  return { parts, omitted };
}
