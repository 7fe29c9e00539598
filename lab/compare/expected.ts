import { type Difference, findDifferences } from "./differences.ts";
import type { Expectation, Pair } from "./judge.ts";

/** The value at a JSON pointer. */
function at(value: unknown, path: string): unknown {
  const keys = path.split("/").slice(1);
  return keys.reduce<unknown>((one, key) => (one as Record<string, unknown> | undefined)?.[key], value);
}

/** The part of a result that a path leads through: the first `length` steps of the path. */
function partOf(pair: Pair, { path }: Difference, length: number) {
  const place = path
    .split("/")
    .slice(0, length + 1)
    .join("/");
  return { reference: at(pair.reference, place), current: at(pair.current, place) };
}

const unauthenticated = "Authentication is required. Send a token or key that this server accepts.";
const digits = "may have lost digits; ask the API for strings";

/** Whether the current version refuses a request because it has no credentials. */
function isRefused(response: unknown): boolean {
  const isHead =
    at(response, "/returned/body") === "" && at(response, "/returned/headers/www-authenticate") === "Bearer";
  return at(response, "/returned/status") === 401 && (isHead || JSON.stringify(response).includes(unauthenticated));
}

/** The warnings about patterns and names of `follow` that have no effect. */
const unusedPattern =
  /^(?:include|exclude): No operation of the source matches "[^"]*"\. Patterns match ids in the registry, names/;
const nothingLeft = /No operation is registered: include and exclude filter out all \d+ of them\./;

/** Replaces the numbers of ids. */
function withoutIds(text: unknown): string {
  return String(text).replace(/<id \d+>/g, "<id>");
}

/** Replaces the hash at the end of the names of tools. */
function withoutHash(text: unknown, length: number): string {
  return String(text).replace(new RegExp(`_[0-9a-f]{${length}}\\b`, "g"), "_#");
}

const digitsOfOutput: Expectation["explains"] = ({ path, current }) =>
  /\/drift(\/\d+(\/message)?)?$/.test(path) && JSON.stringify(current).includes(digits);

const hashOfTool: Expectation["explains"] = ({ reference, current }) =>
  typeof reference === "string" &&
  /_[0-9a-f]{16}/.test(String(current)) &&
  withoutHash(reference, 10) === withoutHash(current, 16);

/** What one run of the command printed, with JSON as objects. */
interface Output {
  readonly args: readonly string[];
  readonly stdout: readonly unknown[];
  readonly stderr: readonly unknown[];
}

/** The outputs of the run of the command that a difference is in. */
function outputsOf(pair: Pair, difference: Difference): { reference: Output; current: Output } {
  const empty: Output = { args: [], stdout: [], stderr: [] }; // A case that does not end has no output.
  const { reference, current } = partOf(pair, difference, 2) as { reference?: Output; current?: Output };
  return { reference: reference ?? empty, current: current ?? empty };
}

/** The lines of an output without the operations of the hub itself, in lists, JSON and types. */
function withoutHub({ stdout }: Output): unknown[] {
  let isHub = false;
  return stdout.flatMap((line) => {
    if (Array.isArray(line)) return [line.filter((one) => at(one, "/namespace") !== "hub")];
    if (line === "  hub: {") isHub = true;
    const isLeftOut = isHub || line === "" || /^hub\.\w+\t/.test(String(line));
    if (line === "  };") isHub = false;
    return isLeftOut ? [] : [line];
  });
}

/** Replaces what the command and its messages call the program. */
function withoutProgram(text: unknown): string {
  return String(text).replaceAll("npx @alkdev/operations ", "operations ");
}

/** The differences between the reference and the current version that are wanted. */
export const expectations: readonly Expectation[] = [
  {
    id: "anonymous",
    what: "Servers refuse requests without credentials, unless allowAnonymous is set.",
    wanted: "design 9.1 [v4]: Without credentials: 401 from every server, for every operation and document",
    kinds: ["http", "mcp"],
    explains: (difference, pair) => isRefused(partOf(pair, difference, pair.kind === "http" ? 3 : 2).current),
  },
  {
    id: "anonymous-ids",
    what: "Refusals have request ids, so those of later responses of a case have other numbers.",
    wanted: "design 9.1 [v4]: Without credentials: 401 from every server, for every operation and document",
    kinds: ["http"],
    explains: ({ path, reference, current }, pair) =>
      /\/(?:requestId|detail)$/.test(path) &&
      withoutIds(reference) === withoutIds(current) &&
      (at(pair.current, "/result/responses") as unknown[]).some(isRefused),
  },
  {
    id: "scopes-first",
    what: "Scopes are checked before the deadline of a call.",
    wanted: "design 3: the steps of a call, find and scopes before run, which is raced against the deadline",
    kinds: ["http"],
    explains: (difference, pair) => {
      const { reference, current } = partOf(pair, difference, 3);
      const code = (response: unknown) => at(response, "/returned/body/code");
      return (
        code(reference) === "TIMEOUT" &&
        code(current) === "ACCESS_DENIED" &&
        at(reference, "/returned/body/mayHaveRun") === false
      );
    },
  },
  {
    id: "anonymous-log",
    what: "Calls that are refused for missing credentials run nothing that could fail.",
    wanted: "design 9.1 [v4]: Without credentials: 401 from every server, for every operation and document",
    kinds: ["http", "mcp"],
    explains: ({ path, reference, current }, pair) =>
      path.startsWith("/noise") &&
      current === undefined &&
      JSON.stringify(reference).includes("[alkdev.operations.serve]") &&
      JSON.stringify(pair.current).includes(unauthenticated),
  },
  {
    id: "anonymous-document",
    what: "The document says which operations callers without credentials may call.",
    wanted: "design 9.1 [v4]: unless allowAnonymous; the OpenAPI document's security says the same",
    kinds: ["document"],
    explains: ({ path, reference, current }) =>
      /^\/result\/published\/body\/paths\/.*\/security$/.test(path) &&
      reference === undefined &&
      JSON.stringify(current) === '[{},{"bearer":[]}]',
  },
  {
    id: "anonymous-allowed",
    what: "With allowAnonymous, callers without credentials are answered even if no operation is theirs to call.",
    wanted: "design 9.1 [v4]: Without credentials: 401 from every server, unless allowAnonymous: true",
    kinds: ["mcp"],
    explains: (difference, pair) => {
      const { reference, current } = partOf(pair, difference, 3);
      const isSame = at(reference, "/body/error/message") === "Authentication is required.";
      return isSame && at(reference, "/status") === 401 && [200, 404].includes(at(current, "/status") as number);
    },
  },
  {
    id: "json-in-sessions",
    what: "A response in a session is JSON. It was an event stream with one message.",
    wanted:
      "design 9.4: Streamable HTTP, which has both; the issue of the servers bounds the CPU of a call in a session",
    kinds: ["mcp"],
    explains: ({ path, reference, current }, pair) => {
      if (/\/headers\/content-type$/.test(path))
        return reference === "text/event-stream" && current === "application/json";
      const message = at(reference, "/0/1/data");
      if (!/\/body$/.test(path) || message === undefined || (reference as unknown[]).length !== 2) return false;
      return findDifferences(message, current).every((one) => hashOfTool(one, pair) || digitsOfOutput(one, pair));
    },
  },
  {
    id: "tool-hash",
    what: "Names of tools that need a hash have 16 hexadecimal digits of it, not 10.",
    wanted: "issue of the servers, defect 4: 64 bits of SHA-256 at least",
    kinds: ["mcp"],
    explains: hashOfTool,
  },
  {
    id: "stream-end",
    what: "A comment line precedes the end of an event stream.",
    wanted: "design 9.3 [v4]: the end is `event: end` and `id: end` without data, after a comment line `: end`",
    kinds: ["http"],
    explains: (difference, pair) => {
      const { reference, current } = partOf(pair, difference, 6);
      const lines = ["event: end", "id: end"];
      return (
        JSON.stringify(reference) === JSON.stringify(lines) &&
        JSON.stringify(current) === JSON.stringify([": end", ...lines])
      );
    },
  },
  {
    id: "lost-digits",
    what: "Numbers beyond 2^53 in data of HTTP and MCP are reported as drift.",
    wanted: "design 5 [v4]: an integer beyond 2^53 has lost digits already: `mismatch`; digits are not kept",
    kinds: ["output", "call", "client", "openapi", "http", "middleware", "mcp", "peer", "websocket", "subscription"],
    explains: digitsOfOutput,
  },
  {
    id: "digits-in-command",
    what: "The command refuses integers that JavaScript rounds.",
    wanted: "design 5 [v4]: digits are not kept",
    kinds: ["command"],
    explains: ({ path, current }, pair) => {
      if (/\/stderr\/\d+$/.test(path)) return /a number that JavaScript would round/.test(String(current));
      const error = path.replace(/\/error\/.*$/, "/error/message");
      return path.includes("/error/") && /a number that JavaScript would round/.test(String(at(pair.current, error)));
    },
  },
  {
    id: "value-of-option",
    what: "The message about an invalid timeout shows the value.",
    wanted: "issue of the core, item 2: one set of call options, which one function checks",
    kinds: ["ending"],
    explains: ({ path, reference, current }) =>
      /\/message$/.test(path) &&
      /must be a number of milliseconds above 0, or Infinity\.?$/.test(String(reference)) &&
      String(current).replace(/, not (?:"[^"]*"|\S+?)(\.?)$/, "$1") === reference,
  },
  {
    id: "hub-operations",
    what: "A hub has more operations of its own, and says more about its calls.",
    wanted: "design 11 and 13: management is operations, and the console uses nothing else",
    kinds: ["types", "command"],
    explains: (difference, pair) => {
      const { reference, current } = outputsOf(pair, difference);
      const [before, after] = [withoutHub(reference), withoutHub(current)];
      const isSame = JSON.stringify(before) === JSON.stringify(after);
      if (/^\/result\/\d+\/stdout\//.test(difference.path)) return isSame;
      // Only a list without any operation says so.
      const isEmpty = after.every((line) => Array.isArray(line) && line.length === 0);
      return isSame && isEmpty && reference.stderr[0] === "No operation was found." && current.stderr.join("") === "";
    },
  },
  {
    id: "one-object",
    what: "Types are written from one model: parts of `allOf` are one object, and what accepts anything is `unknown`.",
    wanted: "design 1 [v4]: one model of a schema",
    kinds: ["types"],
    explains: (difference, pair) =>
      /^\/result\/\d+\/stdout\//.test(difference.path) &&
      withoutHub(outputsOf(pair, difference).reference).some((line) =>
        // Intersections, unions with `unknown`, and properties that several keywords describe.
        /\} & \{|\| unknown;|\[key: string\]: [^;]* \| /.test(String(line)),
      ),
  },
  {
    id: "doctor",
    what: "`doctor` checks Node, the configuration, its port and its sources, and names what needs trust.",
    wanted:
      "design 12 [v4]: trust is of a folder; the question shows every field that is not on a list of harmless ones",
    kinds: ["command"],
    explains: (difference, pair) => {
      const { args, stdout } = outputsOf(pair, difference).current;
      const isUntrusted = stdout.some((line) => String(line).includes("Its folder is not trusted"));
      return args[0] === "doctor" && isUntrusted && /\/stdout\/\d+$/.test(difference.path);
    },
  },
  {
    id: "similar-key",
    what: "The warning about a key that the schema does not describe suggests a similar one.",
    wanted: "design 1 [v4]: one model of a schema; design 12: `key=value`",
    kinds: ["command"],
    explains: ({ path, reference, current }) =>
      /\/stderr\/\d+$/.test(path) &&
      String(current).replace(/ Did you mean "[^"]*"\?$/, "") === reference &&
      current !== reference,
  },
  {
    id: "code-of-error",
    what: "Errors of the command show their code.",
    wanted: "design 12 [v4]: errors show their code",
    kinds: ["command"],
    explains: ({ path, reference, current }) =>
      /\/stderr\/\d+$/.test(path) &&
      withoutProgram(String(current).replace(/^error [A-Z_]+:/, "error:")) === reference &&
      current !== reference,
  },
  {
    id: "name-of-program",
    what: "Messages and help call the program `npx @alkdev/operations`.",
    wanted: "design 12 [v4]: `npx @alkdev/operations …` is what docs and messages say",
    kinds: ["command"],
    explains: ({ reference, current }) =>
      typeof reference === "string" && current !== reference && withoutProgram(current) === reference,
  },
  {
    id: "commands",
    what: "The help lists more commands.",
    wanted: "design 12 [v4]: `operations calls [-f]`, `operations sources`",
    kinds: ["command"],
    explains: (difference, pair) => {
      const { current } = partOf(pair, difference, 2);
      return at(current, "/args/0") === "--help" && JSON.stringify(current).includes("calls       Print the calls of");
    },
  },
  {
    id: "input-in-words",
    what: "`describe` prints a call with `key=value`.",
    wanted: "design 12 [v4]: `describe` shows `key=value`",
    kinds: ["command"],
    explains: ({ path, reference, current }) =>
      /\/stdout\/\d+$/.test(path) &&
      /^ {2}operations (?:call|subscribe) .* --input /.test(String(reference)) &&
      /^ {2}npx @alkdev\/operations (?:call|subscribe) /.test(String(current)),
  },
  {
    id: "one-model",
    what: "Examples are valid, and the parts of `allOf` are one object in a signature.",
    wanted: "design 1 [v4]: one model of a schema",
    kinds: ["command"],
    explains: ({ path }, pair) => {
      const [operation] = /^\/result\/\d+\/stdout\/\d+(?=\/(?:signature$|example))/.exec(path) ?? [];
      if (operation === undefined) return false;
      const schemas = ["inputSchema", "outputSchema"].map((name) => at(pair.current, `${operation}/${name}`));
      return path.endsWith("/signature") ? JSON.stringify(schemas).includes('"allOf"') : true;
    },
  },
  {
    id: "reports-of-hub",
    what: "In a hub, the registry logs what a source left out or changed, with the name of the source.",
    wanted:
      "design 8 [v4]: `onReport({ imported, skipped, warnings })` everywhere, one warning each in the log without it",
    kinds: ["types", "command"],
    explains: ({ path, reference, current }) =>
      /\/stderr\/\d+$/.test(path) &&
      String(current).replace("[alkdev.operations.registry] openapi:", "[alkdev.operations.from.openapi] ") ===
        reference &&
      current !== reference,
  },
  {
    id: "parent-of-execute",
    what: "`parentRequestId` of a direct call is kept, as that of a remote one always was.",
    wanted: "issue of the core, item 2: one set of call options",
    kinds: ["nested"],
    explains: ({ path, reference, current }) =>
      path.endsWith("/parentRequestId") &&
      current === "parent-1" &&
      (reference === undefined || at(reference, "/$") === "undefined"),
  },
  {
    id: "unused-patterns",
    what: "Each pattern of `follow` that matches no operation is reported.",
    wanted: "design 2 [v4]: a pattern that matches nothing is a warning",
    kinds: ["follow"],
    explains: ({ path, reference, current }) =>
      path.includes("/warnings/") &&
      reference === undefined &&
      current === true &&
      unusedPattern.test(path.split("/warnings/")[1]!.replaceAll("~1", "/")),
  },
  {
    id: "nothing-left",
    what: "That include and exclude filter out everything is no longer reported when a pattern that matches nothing is the reason.",
    wanted: "design 2 [v4]: a pattern that matches nothing is a warning",
    kinds: ["follow"],
    explains: ({ path, reference, current }) =>
      path.includes("/warnings/") && reference === true && current === undefined && nothingLeft.test(path),
  },
  {
    id: "patterns-of-names",
    what: "A pattern without a dot also matches names.",
    wanted: "design 2 [v4]: they match finished ids or names without namespace",
    kinds: ["follow"],
    explains: (_, pair) => (at(pair.reference, "/result/patterns") as string[]).includes("create"),
  },
  {
    id: "candidates",
    what: "When an operation is withdrawn, the next candidate takes its place: one change instead of two, and no report.",
    wanted: "design 8 [v4]: the registry keeps candidates for an id, and the first is active",
    kinds: ["follow"],
    explains: ({ path }, pair) => {
      const shared = at(pair.reference, "/result/shared") as string[];
      const listOthers = (result: unknown) =>
        (at(result, "/result/changes") as Array<{ kind: string; operationId: string }>)
          .filter(({ operationId }) => !shared.includes(operationId))
          .map(({ kind, operationId }) => `${kind} ${operationId}`)
          .sort();
      const isSame = JSON.stringify(listOthers(pair.reference)) === JSON.stringify(listOthers(pair.current));
      const places = /^\/result\/(?:changes|states\/\d+\/order|reports\/\d+\/reports\/\d+(?:\/imported\/\d+)?$)/;
      const skipped = /^\/result\/reports\/\d+\/reports\/\d+\/skipped\/.*(?:has the same id|with the same id)/;
      return shared.length > 0 && isSame && (places.test(path) || skipped.test(path));
    },
  },
  {
    id: "order-of-changes",
    what: "Operations that a source adds later come in its order, also when they are removed.",
    wanted: "issue of the core, item 4: candidates per id in the registry, and `follow` only adds options",
    kinds: ["follow"],
    explains: ({ path }, pair) => {
      const list = (result: unknown) =>
        (at(result, "/result/changes") as object[]).map((one) => JSON.stringify(one)).sort();
      return path.startsWith("/result/changes/") && list(pair.reference).join() === list(pair.current).join();
    },
  },
  {
    id: "excluded-again",
    what: "A report of a change also names changed operations that include and exclude filter out.",
    wanted: "issue of the core, item 4: candidates per id in the registry, and `follow` only adds options",
    kinds: ["follow"],
    explains: ({ path, reference, current }) =>
      /\/reports\/[1-9]\d*\/skipped\/[^/]+: The configuration excludes it\.$/.test(path) &&
      reference === undefined &&
      current === true,
  },
  {
    id: "unused-patterns-of-openapi",
    what: "Each pattern of `follow` that matches no operation is reported.",
    wanted: "design 2 [v4]: a pattern that matches nothing is a warning",
    kinds: ["openapi"],
    explains: ({ path, reference, current }) =>
      /^\/result\/reports\/\d+\/warnings\/\d+\/reason$/.test(path) &&
      nothingLeft.test(String(reference)) &&
      unusedPattern.test(`include: ${current}`),
  },
  {
    id: "map-in-body",
    what: "The message about an argument that JSON cannot represent is that of all transports.",
    wanted: "issue of the core, item 5: one walk that says whether a value can be sent, with path and reason",
    kinds: ["openapi"],
    explains: ({ path, reference, current }) =>
      /\/message$/.test(path) &&
      /which JSON cannot represent/.test(String(reference)) &&
      /it contains a value that cannot be sent: /.test(String(current)),
  },
];
