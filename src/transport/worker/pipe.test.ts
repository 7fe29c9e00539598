import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { openPipe } from "./pipe.ts";

function listenTo(pipe: PassThrough, maxReceived = 1_000) {
  const heard: string[] = [];
  const ended = new Promise<Error>((onEnd) => {
    openPipe(pipe, maxReceived, { onMessage: (message) => heard.push(message as string), onEnd });
  });
  return { heard, ended };
}

test("lines arrive whole wherever the stream is cut, also inside a character", async () => {
  const bytes = Buffer.from('{"a":"ä€😀"}\n{"b":1}\n\n{"c":2}\n');
  for (let cut = 0; cut <= bytes.length; cut++) {
    const pipe = new PassThrough();
    const { heard, ended } = listenTo(pipe);

    pipe.write(bytes.subarray(0, cut));
    await new Promise((resolve) => setImmediate(resolve));
    pipe.end(bytes.subarray(cut));
    await ended;

    expect(heard.join("\n")).toBe('{"a":"ä€😀"}\n{"b":1}\n\n{"c":2}');
  }
});

test("a line that does not end is waited for up to the limit", async () => {
  const pipe = new PassThrough();
  const { heard, ended } = listenTo(pipe, 10_000);

  pipe.write("x".repeat(10_000));
  await new Promise((resolve) => setImmediate(resolve));
  expect(pipe.destroyed).toBe(false);
  pipe.write("x");

  expect((await ended).message).toBe("A message is larger than 10000 bytes");
  expect(heard).toEqual([]);
});

test("each message is one line, and queued bytes are counted", () => {
  const pipe = new PassThrough({ highWaterMark: 1 });
  pipe.cork();
  const channel = openPipe(pipe, 1_000, { onMessage: () => {}, onEnd: () => {} });

  channel.send("one");
  channel.send("two\nthree");

  expect(channel.bufferedAmount).toBe("one\ntwo\nthree\n".length);
});
