/** Patterns of values that differ between runs: times, ids, tokens, durations, ports. */
const volatile: Array<[RegExp, string]> = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, "<uuid>"],
  [/(?<![\w-])[\w-]{43}(?![\w-])/g, "<token>"], // 256 bits as base64url
  [/\bsha256:[0-9a-f]{64}\b/g, "sha256:<hash>"],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "<time>"],
  [/\b1\d{12}\b/g, "<time>"],
  [/\b\d+(\.\d+)? ?(ms|µs|ns|s)\b/g, "<duration>"],
  [/(127\.0\.0\.1|localhost):\d+/g, "$1:<port>"],
];

/**
 * Whether `shown` is the output or a range of its lines. Times, ids, tokens, durations, ports and trailing spaces may differ.
 */
export function isShownTruly(shown: string, output: string): boolean {
  const part = mask(shown);
  return part !== "" && `\n${mask(output)}\n`.includes(`\n${part}\n`);
}

function mask(text: string): string {
  return volatile.reduce(
    (masked, [pattern, name]) => masked.replace(pattern, name),
    text.replace(/[ \t]+$/gm, "").trimEnd(),
  );
}
