import { logger } from "../../internal/log.ts";
import { formatOperationId, type OperationSpec } from "../../operation/index.ts";

const log = logger("transport", "bus");

/** Lists of specs of which each fits into a message of about `maxPart` bytes. One that alone does not is left out. */
export function splitSpecs(specs: readonly OperationSpec[], maxPart: number): OperationSpec[][] {
  const parts: OperationSpec[][] = [];
  let room = 0;
  for (const spec of specs) {
    const size = Buffer.byteLength(JSON.stringify(spec));
    if (size > maxPart) {
      const operationId = formatOperationId(spec.namespace, spec.name);
      log.warn("{operationId} is not announced: its spec is larger than a message may be.", { operationId });
      continue;
    }
    if (size > room) {
      parts.push([]);
      room = maxPart;
    }
    parts.at(-1)!.push(spec);
    room -= size;
  }
  return parts;
}
