/**
 * This stands in for a language model, so that the example needs no network and always replies the same. Replace
 * `chooseTool` and `phrase` with requests to the API of a model; the tool belt and the assistant stay as they are.
 */
import type { OperationSpec } from "@alkdev/operations";

/** A call that the model wants to make. */
export interface ToolCall {
  /** Id of the operation. */
  id: string;
  /** Its input. */
  input: Record<string, string>;
}

/** Chooses the best match, and fills its input from the message. Returns `undefined` if no tool fits. */
export function chooseTool(message: string, [best]: readonly OperationSpec[]): ToolCall | undefined {
  if (best === undefined) return undefined;
  const { properties = {} } = best.inputSchema as { properties?: object };
  const order = /\b[A-Z]-\d+\b/.exec(message)?.[0] ?? "";
  const input = Object.fromEntries(Object.keys(properties).map((key) => [key, key === "order" ? order : message]));
  return { id: `${best.namespace}.${best.name}`, input };
}

/** Turns the result of an operation into a sentence. */
export function phrase(id: string, data: unknown): string {
  const result = data as Record<string, string | number | undefined>;
  switch (id) {
    case "support.track": {
      const arrival = result["arrives"] === undefined ? "" : ` and arrives on ${result["arrives"]}`;
      return `Your ${result["item"]} (${result["order"]}) is ${result["status"]}${arrival}.`;
    }
    case "support.refund": {
      const euros = (Number(result["cents"]) / 100).toFixed(2);
      return `I refunded ${euros} EUR for ${result["order"]} and sent you a mail. The ticket is ${result["ticket"]}.`;
    }
    case "support.help":
      return `${result["title"]}: ${result["text"]}`;
    case "support.escalate":
      return `A colleague will contact you. The ticket is ${result["ticket"]}.`;
    default:
      return JSON.stringify(data);
  }
}
