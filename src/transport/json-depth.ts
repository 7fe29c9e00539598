/** Returns whether JSON is nested more than `maxDepth` levels deep. Call before parsing: deep values overflow the stack later. */
export function isNestedDeeper(json: string, maxDepth: number): boolean {
  // Every level needs two characters, so a short string cannot be nested too deeply.
  if (json.length <= maxDepth * 2) return false;
  let depth = 0;
  for (let index = 0; index < json.length; index++) {
    const code = json.charCodeAt(index);
    if (code === 0x22) {
      index = endOfString(json, index);
      if (index === -1) return false;
    } else if (code === 0x5b || code === 0x7b) {
      if (++depth > maxDepth) return true;
    } else if (code === 0x5d || code === 0x7d) depth--;
  }
  return false;
}

/** Returns the index of the quote that ends the string beginning at `start`, or -1. */
function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end !== -1; end = json.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (json.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return -1;
}
