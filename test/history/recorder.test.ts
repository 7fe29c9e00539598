import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createRecorder, readHistory } from "./recorder.ts";

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "history-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

test("the records of several processes become one history, in order of time", () => {
  const folder = createFolder();
  const [caller, worker] = [join(folder, "caller"), join(folder, "worker")];
  const first = createRecorder(caller, "caller");
  const second = createRecorder(worker, "worker");

  first.record({ kind: "aborted", call: "a" });
  second.record({ kind: "started", call: "a", left: 5 });
  first.record({ kind: "settled", call: "a", outcome: "left" });
  first.close();
  second.close();

  expect(readHistory([worker, caller])).toEqual([
    { kind: "aborted", call: "a", at: expect.any(Number), by: "caller" },
    { kind: "started", call: "a", left: 5, at: expect.any(Number), by: "worker" },
    { kind: "settled", call: "a", outcome: "left", at: expect.any(Number), by: "caller" },
  ]);
});

test("the partial line of a killed process is ignored, and any other malformed line is an error", () => {
  const file = join(createFolder(), "log");
  writeFileSync(file, '{"kind":"aborted","call":"a","at":1,"by":"x"}\n{"kind":"abo');

  const events = readHistory([file]);
  appendFileSync(file, "\n");

  expect(events).toEqual([{ kind: "aborted", call: "a", at: 1, by: "x" }]);
  expect(() => readHistory([file])).toThrow(`${file}:2 is not an event of a history`);
});
