import { CallError } from "../../../operation/index.ts";

/** `PAYLOAD_TOO_LARGE` of an answer over HTTP. */
export function answerTooLarge(limit: number): CallError {
  return new CallError("PAYLOAD_TOO_LARGE", `The answer has more than ${limit} bytes.`, {
    limit: "responseBytes",
    allowed: limit,
  });
}

/**
 * Cuts a body after a number of decoded bytes, so that a small compressed answer cannot fill the memory. Then the
 * connection is given up.
 */
export function cutBody(response: Response, limit: number): ReadableStream<Uint8Array> | null {
  if (response.body === null) return null;
  const reader = response.body.getReader();
  let size = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) return controller.close();
      size += value.byteLength;
      if (size <= limit) return controller.enqueue(value);
      reader.cancel().catch(() => {});
      controller.enqueue(value.subarray(0, value.byteLength - (size - limit)));
      controller.close();
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/**
 * Lets a body be read as text or JSON up to a limit of decoded bytes, which is all that the SDK does with an answer that
 * is no stream. Over the limit the connection is given up. A stream around the body would cost a fifth of a call.
 */
export function boundReading(response: Response, limit: number): Response {
  const text = () => readText(response, limit);
  Object.defineProperty(response, "text", { value: text });
  Object.defineProperty(response, "json", { value: async () => JSON.parse(await text()) });
  return response;
}

async function readText({ body }: Response, limit: number): Promise<string> {
  if (body === null) return "";
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let size = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.byteLength;
    if (size > limit) {
      reader.cancel().catch(() => {});
      throw answerTooLarge(limit);
    }
    text += decoder.decode(value, { stream: true });
  }
}
