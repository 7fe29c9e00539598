import { vi } from "vitest";

/** How long, in ms, a test waits for a condition. Only what never comes takes so long; a busy machine must not fail. */
const patience = 60_000;

type Options = Parameters<typeof vi.waitFor>[1];

function withPatience(options: Options = {}): Options {
  const { timeout = patience, ...more } = typeof options === "number" ? { timeout: options } : options;
  return { timeout, ...more };
}

const { waitFor, waitUntil } = vi;
vi.waitFor = (callback, options) => waitFor(callback, withPatience(options));
vi.waitUntil = (callback, options) => waitUntil(callback, withPatience(options));
