import fc from "fast-check";
import { vi } from "vitest";
import { waitTimeoutMs } from "../src/internal/testing.ts";

/**
 * Generated cases are the same in every run, so that a change is judged by what it changed. `FC_SEED=random` tries
 * new ones; `FC_SEED=<number>` repeats a run with the seed that a failure printed.
 */
const seed = process.env["FC_SEED"] ?? "20260510";
fc.configureGlobal({ seed: seed === "random" ? Date.now() ^ (Math.random() * 0x7fffffff) : Number(seed) });

// Vitest has no setting for how long `vi.waitFor` waits; 1 s is too short for a busy machine.
const { waitFor, waitUntil } = vi;
type Options = Parameters<typeof vi.waitFor>[1];
const withTimeout = (options: Options = {}): Options =>
  typeof options === "number" ? options : { timeout: waitTimeoutMs, ...options };
vi.waitFor = (callback, options) => waitFor(callback, withTimeout(options));
vi.waitUntil = (callback, options) => waitUntil(callback, withTimeout(options));

// Many tests produce drift and skipped operations on purpose. Tests that check these warnings replace `console.warn`.
const { warn } = console;
console.warn = (...message) => {
  if (!String(message[0]).startsWith("[alkdev.operations.")) warn(...message);
};
