import type { Writable } from "node:stream";

/** The part of stdout that only the protocol uses. */
interface ClaimedOutput {
  /** Writes to what stdout wrote to. */
  readonly stream: Writable;
  /** Returns stdout to the program. */
  release(): void;
}

/**
 * Claims stdout until it is released. Everything else that the process writes there goes to stderr: the stream itself
 * stays as it is, and only what it writes to is replaced, so that references to it and pipelines work as before.
 */
export async function claimOutput(): Promise<ClaimedOutput> {
  const { Writable } = await import("node:stream");
  const { stdout, stderr } = process;
  const { _write, _writev, _final } = stdout;
  stdout.on("error", ignore);
  Object.assign(stdout, {
    _write: stderr.write.bind(stderr),
    _writev: null,
    _final: (done: () => void) => done(),
  });
  const stream = new Writable({
    // As bytes, because the stream of a file takes the arguments for bytes only.
    write: (chunk, _encoding, done) => _write.call(stdout, chunk, "buffer" as BufferEncoding, done),
  });
  const release = () => {
    Object.assign(stdout, { _write, _writev, _final });
    stdout.off("error", ignore);
  };
  return { stream, release };
}

function ignore(): void {}
