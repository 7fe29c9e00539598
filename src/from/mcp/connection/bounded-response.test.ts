import { expect, test } from "vitest";
import { boundEvents } from "./bounded-response.ts";

async function pass(chunks: string[], limit: number): Promise<{ text: string; tooLarge: boolean }> {
  let tooLarge = false;
  const source = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
      controller.close();
    },
  });
  const text = await new Response(
    boundEvents(source, limit, () => {
      tooLarge = true;
    }),
  ).text();
  return { text, tooLarge };
}

test.each([["\n\n"], ["\r\n\r\n"]])("many events of the maximum size pass, with line end %j", async (end) => {
  const event = `data: 1234${end}`;
  const chunks = Array.from({ length: 50 }, () => [event, "data: 12", `34${end}`]).flat();

  expect(await pass(chunks, 12)).toEqual({ text: chunks.join(""), tooLarge: false });
});

test.each([
  ["in one piece", ["data: a\n\n", `data: ${"x".repeat(20)}`]],
  ["in many", ["data: a\n\n", "data: ", ..."x".repeat(20)]],
  ["of comments", [": a\n", ...": b\n".repeat(10).split(/(?<=\n)/)]],
])("an event over the limit ends the stream: %s", async (_, chunks) => {
  const { text, tooLarge } = await pass(chunks, 15);

  expect(tooLarge).toBe(true);
  expect(chunks.join("").startsWith(text)).toBe(true);
  expect(text.length).toBeLessThan(30);
});
