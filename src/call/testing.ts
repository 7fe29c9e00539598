import { Type } from "typebox";
import { type IOperationDefinition, localEnvelope, type OperationSpec } from "../operation/index.ts";
import { type CallRequested, isLastReply, type ReplyFrame, type Transport } from "../transport/transport.ts";

export { deferred, sleep, until } from "../internal/testing.ts";

/** Creates a query `test.<name>` that accepts any input and returns any output. */
export function operation(name: string, handler: IOperationDefinition["handler"]): IOperationDefinition {
  return {
    namespace: "test",
    name,
    version: "1.0.0",
    type: "query",
    description: `Serves the tests as ${name}.`,
    inputSchema: Type.Unknown(),
    outputSchema: Type.Unknown(),
    accessControl: { requiredScopes: [] },
    handler,
  };
}

/** Creates a subscription `test.<name>` that accepts any input and emits any values. */
export function subscription(name: string, handler: IOperationDefinition["handler"]): IOperationDefinition {
  return { ...operation(name, handler), type: "subscription" };
}

/** Returns an operation without its handler. */
export function describeSpec({ handler: _handler, ...spec }: IOperationDefinition): OperationSpec {
  return spec;
}

/** Creates a request frame. */
export function requested(
  operationId: string,
  input: unknown,
  requestId = crypto.randomUUID() as string,
): CallRequested {
  return { type: "call.requested", requestId, operationId, input };
}

/** Creates the response to a request. */
export function responded({ requestId, operationId }: CallRequested, data: unknown): ReplyFrame {
  return { type: "call.responded", requestId, output: localEnvelope(data, operationId) };
}

/** Sends a request, adds the data of every reply to `received`, and resolves after the last one. */
export async function exchange(transport: Transport, frame: CallRequested, received: unknown[]): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const onReply = (reply: ReplyFrame) => {
      received.push(reply.type === "call.responded" ? reply.output.data : reply.type);
      if (isLastReply(reply)) resolve();
    };
    (async () => transport.request(frame.operationId, frame, onReply))().catch(reject);
  });
}

/**
 * Repeats a call with increasing timeouts until its handler started before the time was up, because a busy machine may
 * be slow. Returns the outcome of the last call.
 */
export async function withEnoughTime<T>(hasBegun: () => boolean, call: (time: number) => Promise<T>): Promise<T> {
  for (let time = 100; ; time *= 2) {
    const end = await call(time);
    if (hasBegun()) return end;
  }
}
