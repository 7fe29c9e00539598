import { expect, test } from "vitest";
import { LineReader } from "./line-reader.ts";

function read(chunks: Buffer[], limit: number, marker?: string): unknown[] {
  const received: unknown[] = [];
  const reader = new LineReader(
    limit,
    {
      onLine: (line) => {
        received.push(line.toString());
        return !line.includes("malformed");
      },
      onTooLong: (head, tail) => received.push({ head, tail }),
      onEndless: () => received.push("endless"),
    },
    marker,
  );
  for (const chunk of chunks) reader.push(chunk);
  return received;
}

test("lines do not depend on how the bytes are chunked", () => {
  const bytes = Buffer.from("one\n\ngröße 🎉\n12345678901234567890\nlast\nopen");
  const expected = ["one", "größe 🎉", { head: "12345678901234567890", tail: "12345678901234567890" }, "last"];

  for (let first = 0; first <= bytes.length; first++) {
    for (let second = first; second <= bytes.length; second++) {
      const chunks = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];
      expect(read(chunks, 15)).toEqual(expected);
    }
  }
});

test("a line of exactly the limit is accepted", () => {
  expect(read([Buffer.from("12345\n123456\n")], 5)).toEqual(["12345", { head: "123456", tail: "123456" }]);
});

test("only both ends of a long line are kept", () => {
  const [received] = read([Buffer.from(`start${"x".repeat(5_000)}`), Buffer.from(`${"y".repeat(1_000)}end\n`)], 1_000);

  expect(received).toEqual({ head: `start${"x".repeat(251)}`, tail: `${"y".repeat(253)}end` });
});

test("an endless line is reported once, and the rest is ignored", () => {
  const chunks = Array.from({ length: 100 }, () => Buffer.from("xxxx"));

  expect(read([...chunks, Buffer.from("\nline\n")], 10)).toEqual(["endless"]);
});

test("with a marker, only lines that contain it are read, in any chunks", () => {
  const bytes = Buffer.from("noise\n\na <m> line\nmore\nnoise <m\n<m>\n> open\nlast <m>\nopen <m>");

  for (let first = 0; first <= bytes.length; first++) {
    for (let second = first; second <= bytes.length; second++) {
      const chunks = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];
      expect(read(chunks, 15, "<m>")).toEqual(["a <m> line", "<m>", "last <m>"]);
    }
  }
});

test("too much noise without a message in between is reported as endless", () => {
  const noise = Buffer.from("noise\n".repeat(10));
  const message = Buffer.from("<m>\n");

  expect(read([noise, message, noise, message], 10, "<m>")).toEqual(["<m>", "<m>"]);
  expect(read([message, noise, noise, message], 10, "<m>")).toEqual(["<m>", "endless"]);
});

test("a line that is refused counts as much noise", () => {
  const refused = Buffer.from("<m> malformed\n".repeat(1_000));

  const received = read([refused], 100_000, "<m>");

  expect(received.at(-1)).toBe("endless");
  expect(received.length).toBeLessThan(60);
});
