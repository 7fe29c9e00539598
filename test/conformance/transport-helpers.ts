import { Type } from "typebox";
import { type IOperationDefinition, localEnvelope, type OperationSpec } from "../../src/index.ts";
import { type CallRequested, isLastReply, type ReplyFrame, type Transport } from "../../src/transport/transport.ts";

/** How long, in ms, something may take on a busy machine. */
const patience = 60_000;

/** A query `test.<name>` of any input and output. */
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

/** The same as a subscription. */
export function subscription(name: string, handler: IOperationDefinition["handler"]): IOperationDefinition {
  return { ...operation(name, handler), type: "subscription" };
}

/** An operation without its handler. */
export function describeSpec({ handler: _handler, ...spec }: IOperationDefinition): OperationSpec {
  return spec;
}

/** A request as an asker sends it. */
export function requested(
  operationId: string,
  input: unknown,
  requestId = crypto.randomUUID() as string,
): CallRequested {
  return { type: "call.requested", requestId, operationId, input };
}

/** The answer to a request. */
export function responded({ requestId, operationId }: CallRequested, data: unknown): ReplyFrame {
  return { type: "call.responded", requestId, output: localEnvelope(data, operationId) };
}

/** Sends a request, notes the data of every answer, and resolves at the last one. */
export async function exchange(transport: Transport, frame: CallRequested, heard: unknown[]): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const onReply = (reply: ReplyFrame) => {
      heard.push(reply.type === "call.responded" ? reply.output.data : reply.type);
      if (isLastReply(reply)) resolve();
    };
    (async () => transport.request(frame.operationId, frame, onReply))().catch(reject);
  });
}

/** A promise and the functions that settle it. */
export function deferred<T>(): { promise: Promise<T>; resolve(value: T): void } {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((yes) => {
    resolve = yes;
  });
  return { promise, resolve };
}

/** Waits for some milliseconds. */
export function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/**
 * Makes a call with more and more time, until its handler has begun before the time was up: a busy machine may need any
 * time for that. Gives how the call ended.
 */
export async function withEnoughTime<T>(hasBegun: () => boolean, call: (time: number) => Promise<T>): Promise<T> {
  for (let time = 100; ; time *= 2) {
    const end = await call(time);
    if (hasBegun()) return end;
  }
}

/** Waits until something holds; what throws does not hold yet. Gives up after a long time with the last error. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + patience;
  for (;;) {
    let problem: unknown;
    try {
      if (await holds()) return;
    } catch (error) {
      problem = error;
    }
    if (performance.now() > end) throw new Error("It did not come true.", { cause: problem });
    await sleep(5);
  }
}
