import { CallError } from "../../../operation/index.ts";

/** `PAYLOAD_TOO_LARGE` of an answer over HTTP. */
export function answerTooLarge(limit: number): CallError {
  return new CallError("PAYLOAD_TOO_LARGE", `The answer has more than ${limit} bytes.`, {
    limit: "responseBytes",
    allowed: limit,
  });
}

/**
 * Counts the decoded bytes of a body as they come, so that a small compressed answer cannot fill the memory. Over the
 * limit the connection is given up, and the body fails or, where only its beginning matters, ends.
 */
export function boundBody(response: Response, limit: number, over: "fail" | "cut"): ReadableStream<Uint8Array> | null {
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
      if (over === "fail") return controller.error(answerTooLarge(limit));
      controller.enqueue(value.subarray(0, value.byteLength - (size - limit)));
      controller.close();
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
