/** What bytes can travel as: the buffer itself, or a view of one. */
const kinds = [
  "ArrayBuffer",
  "DataView",
  "Int8Array",
  "Uint8Array",
  "Uint8ClampedArray",
  "Int16Array",
  "Uint16Array",
  "Int32Array",
  "Uint32Array",
  "Float16Array",
  "Float32Array",
  "Float64Array",
  "BigInt64Array",
  "BigUint64Array",
] as const;

type Make = (buffer: ArrayBuffer) => unknown;

/** How each kind is made again from its bytes. Runtimes without `Float16Array` have no entry for it. */
const makers: ReadonlyMap<string, Make> = new Map(
  kinds.flatMap((kind): Array<[string, Make]> => {
    if (kind === "ArrayBuffer") return [[kind, (buffer) => buffer]];
    const View = (globalThis as Record<string, unknown>)[kind] as (new (buffer: ArrayBuffer) => unknown) | undefined;
    return View === undefined ? [] : [[kind, (buffer) => new View(buffer)]];
  }),
);

/**
 * The kind and the bytes of a buffer or a view; of a view only what it shows. A view keeps the kind of its built-in
 * ancestor, so a `Buffer` of Node is a `Uint8Array`.
 */
export function readBinary(value: object): { kind: string; bytes: Uint8Array } | undefined {
  if (ArrayBuffer.isView(value)) {
    const kind = (value as { [Symbol.toStringTag]?: string })[Symbol.toStringTag];
    if (kind === undefined || !makers.has(kind)) return undefined;
    return { kind, bytes: new Uint8Array(value.buffer, value.byteOffset, value.byteLength) };
  }
  return value instanceof ArrayBuffer ? { kind: "ArrayBuffer", bytes: new Uint8Array(value) } : undefined;
}

/** Makes the value again, or gives `undefined` when there is no such kind or the bytes do not fill its elements. */
export function makeBinary(kind: string, bytes: Uint8Array<ArrayBuffer>): unknown {
  try {
    return makers.get(kind)?.(bytes.buffer);
  } catch {
    return undefined; // a length that is no multiple of the element's
  }
}
