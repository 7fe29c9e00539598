import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import type { HistoryEvent } from "./events.ts";

type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** What happened, without when and where. */
export type Occurrence = Without<HistoryEvent, "at" | "by">;

/** Writes down what happens in one process or thread. */
export interface Recorder {
  readonly by: string;
  record(event: Occurrence): void;
  close(): void;
}

/**
 * Milliseconds of the clock that all processes of a machine share. It never jumps, and a worker whose `Date` is shifted
 * still reads it right.
 */
export function now(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

/** Appends to a file line by line and immediately, so that a killed process has written everything. */
export function createRecorder(file: string, by: string): Recorder {
  const descriptor = openSync(file, "a");
  let isOpen = true;
  return {
    by,
    record(event) {
      if (isOpen) writeSync(descriptor, `${JSON.stringify({ at: now(), by, ...event })}\n`);
    },
    close() {
      if (isOpen) closeSync(descriptor);
      isOpen = false;
    },
  };
}

/** Keeps what happens in this process in a list. */
export function createMemoryRecorder(by: string, events: HistoryEvent[]): Recorder {
  return { by, record: (event) => void events.push({ at: now(), by, ...event } as HistoryEvent), close() {} };
}

/** Merges what several processes wrote. The last line of a process that was killed may be half a line. */
export function readHistory(files: readonly string[]): HistoryEvent[] {
  return files.flatMap(readEvents).sort((a, b) => a.at - b.at);
}

function readEvents(file: string): HistoryEvent[] {
  const lines = readFileSync(file, "utf8").split("\n");
  const last = lines.pop() ?? "";
  const events = lines.filter((line) => line !== "").map((line, index) => parseEvent(line, `${file}:${index + 1}`));
  return last === "" ? events : [...events, ...parseLast(last)];
}

function parseEvent(line: string, where: string): HistoryEvent {
  const event: unknown = parse(line);
  if (typeof event === "object" && event !== null && "kind" in event && "at" in event) return event as HistoryEvent;
  throw new Error(`${where} is not an event of a history`);
}

function parseLast(line: string): HistoryEvent[] {
  const event = parse(line);
  return event === undefined ? [] : [event as HistoryEvent];
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
