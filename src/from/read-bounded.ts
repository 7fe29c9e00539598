/** Maximum size of a configuration, or of a file that it names, in bytes. */
const maxConfigBytes = 4 * 1_024 * 1_024;

/**
 * Reads a text file whose path others chose. Throws for anything but a file, such as a named pipe or a device, which may
 * never end, and a `RangeError` for a file that is larger than `limit` bytes. It does not wait, so it needs no signal.
 */
export function readBounded(path: string, limit?: number): string {
  return readBoundedBytes(path, limit).toString("utf8");
}

/** Like `readBounded`, for files that are not text. */
export function readBoundedBytes(path: string, limit = maxConfigBytes): Buffer {
  // An import would end up in bundles for browsers.
  const { closeSync, constants, fstatSync, openSync, readSync } = process.getBuiltinModule("node:fs");
  // Without this flag, opening a named pipe waits for its writer. Windows does not have it.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = fstatSync(file);
    if (stats.isDirectory()) throw new Error("EISDIR: it is a folder");
    if (!stats.isFile()) throw new Error("it is not a file but a device or a pipe");
    const bytes = Buffer.alloc(Math.min(stats.size, limit) + 1);
    const chunks: Buffer[] = [];
    let size = 0;
    for (let read = -1; read !== 0; size += read) {
      read = readSync(file, bytes);
      if (size + read > limit) throw new RangeError(`it is larger than ${limit} bytes`);
      chunks.push(Buffer.from(bytes.subarray(0, read)));
    }
    return Buffer.concat(chunks);
  } finally {
    closeSync(file);
  }
}
