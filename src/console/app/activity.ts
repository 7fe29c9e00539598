import { signal } from "@preact/signals";
import { type Activity, type CallRecord, type HistoryPage, keyOf, runningKeyOf } from "./api.ts";
import { ask, hubTime, subscribe, toCallError } from "./hub.ts";

/** How the page follows the calls of the hub. */
export type LiveState =
  | { kind: "connecting" | "live" | "hidden" }
  | { kind: "stopped"; since: number; reason: string; nextAttempt: number }
  | { kind: "off"; reason: string };

/** Maximum number of calls that the page keeps. */
const maxCalls = 5_000;
/** The list is updated at most every 250 ms. */
const showEveryMs = 250;
/** A hidden tab closes its stream after this time: browsers allow six connections to a server. */
const hiddenAfterMs = 30_000;
/** Maximum number of missed calls that are loaded after an interruption. */
const maxMissed = 200;

/** State of the stream. */
export const live = signal<LiveState>({ kind: "connecting" });
/** The newest calls of the stream, newest first. */
export const liveCalls = signal<readonly CallRecord[]>([]);
/** Exact numbers since the page was opened, of calls that were reported. */
export const totals = signal({ started: 0, succeeded: 0, failed: 0, running: 0, skipped: 0 });
/** Calls and failures of the last second. */
export const rate = signal({ calls: 0, failed: 0, shown: 0 });

/** What is missing in the list, after an interruption. */
export const missed = signal("");

/** By key, oldest first. A running call is replaced by its record when it ends. */
const store = new Map<string, CallRecord>();
const recent: { at: number; activity: Activity }[] = [];
let shownAt = 0;
let showing: ReturnType<typeof setTimeout> | undefined;

/** Follows the calls of the hub until the signal fires. Reconnects after interruptions and loads what it has missed. */
export async function followActivity(signedOut: AbortSignal): Promise<void> {
  let attempts = 0;
  while (!signedOut.aborted) {
    if (document.hidden) await becomesVisible(signedOut);
    const connection = new AbortController();
    const stop = () => connection.abort();
    signedOut.addEventListener("abort", stop);
    const unwatch = whenHidden(stop);
    try {
      live.value = { kind: "connecting" };
      const lastSeen = Math.max(0, ...Array.from(store.values(), (call) => call.startedAt));
      for await (const activity of subscribe<Activity>("hub.activity", {}, { signal: connection.signal })) {
        if (live.peek().kind !== "live") {
          if (lastSeen > 0) await loadMissed(lastSeen);
          attempts = 0;
          live.value = { kind: "live" };
        }
        add(activity);
      }
      await interrupted("The hub ended the stream.", attempts++, signedOut);
    } catch (error) {
      const { code, message } = toCallError(error);
      if (code === "ACCESS_DENIED" || code === "OPERATION_NOT_FOUND") {
        live.value = { kind: "off", reason: message };
        return;
      }
      if (connection.signal.aborted) live.value = { kind: "hidden" };
      else await interrupted(message, attempts++, signedOut);
    } finally {
      unwatch();
      signedOut.removeEventListener("abort", stop);
    }
  }
}

/** Adds a report to the counters and its calls to the store. */
export function add(activity: Activity): void {
  const { started, succeeded, failed, running, skipped, calls } = activity;
  const before = totals.peek();
  totals.value = {
    started: before.started + started,
    succeeded: before.succeeded + succeeded,
    failed: before.failed + failed,
    running,
    skipped: before.skipped + skipped,
  };
  for (const call of calls) put(call);
  // The ends of running calls may be among those that were skipped.
  if (running === 0) for (const [key, { id }] of store) if (id === undefined) store.delete(key);
  const now = performance.now();
  recent.push({ at: now, activity });
  show();
}

/** Clears everything: another identity must not see the calls of the one before. */
export function clearActivity(): void {
  store.clear();
  recent.length = 0;
  liveCalls.value = [];
  missed.value = "";
  totals.value = { started: 0, succeeded: 0, failed: 0, running: 0, skipped: 0 };
  rate.value = { calls: 0, failed: 0, shown: 0 };
}

function put(call: CallRecord): void {
  if (call.id !== undefined) store.delete(runningKeyOf(call));
  store.set(keyOf(call), call);
  if (store.size <= maxCalls) return;
  const [oldest] = store.keys();
  store.delete(oldest!);
}

function show(): void {
  if (showing !== undefined) return;
  showing = setTimeout(
    () => {
      showing = undefined;
      shownAt = performance.now();
      while (recent.length > 0 && shownAt - recent[0]!.at > 1_000) recent.shift();
      liveCalls.value = Array.from(store.values()).reverse();
      const sum = (count: (one: Activity) => number) => recent.reduce((all, { activity }) => all + count(activity), 0);
      rate.value = {
        calls: sum((one) => one.started),
        failed: sum((one) => one.failed),
        shown: sum((one) => one.calls.length),
      };
      if (recent.length > 0) show(); // Until the last second has passed.
    },
    Math.max(0, showEveryMs - (performance.now() - shownAt)),
  );
}

async function loadMissed(since: number): Promise<void> {
  try {
    const { calls, next } = await ask<HistoryPage>("history", { since, limit: maxMissed });
    for (const call of calls.reverse()) put(call);
    if (next !== undefined) missed.value = `Of the calls during an interruption, the newest ${maxMissed} are listed.`;
  } catch {
    // The stream goes on; the list of recorded calls reports why it cannot be read.
  }
}

async function interrupted(reason: string, attempts: number, signedOut: AbortSignal): Promise<void> {
  const delay = Math.min(30_000, 1_000 * 2 ** attempts) * (0.75 + Math.random() / 2);
  live.value = { kind: "stopped", since: hubTime(), reason, nextAttempt: hubTime() + delay };
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, delay);
    signedOut.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function becomesVisible(signedOut: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    document.addEventListener("visibilitychange", () => resolve(), { once: true, signal: signedOut });
    signedOut.addEventListener("abort", () => resolve(), { once: true });
  });
}

function whenHidden(stop: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const onChange = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(stop, hiddenAfterMs);
  };
  document.addEventListener("visibilitychange", onChange);
  return () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", onChange);
  };
}
