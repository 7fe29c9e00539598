import { BoundedMap } from "../internal/bounded.ts";
import {
  checkScopes,
  defineNamespace,
  type Identity,
  type IOperationDefinition,
  isOperator,
  nearestOperation,
  operationNotFound,
  overloaded,
  Type,
} from "../operation/inside.ts";
import { Call, coreOf } from "../registry/inside.ts";
import { activityInput, activityOutput, watchActivity } from "./activity.ts";
import { isAdmin } from "./call-queries.ts";
import type { HubRule, ResolvedConfig } from "./config.ts";
import type { History } from "./history.ts";
import type { Hub } from "./hub.ts";
import { sourceStateSchema } from "./management.ts";
import { hubScopes } from "./rules.ts";

/** The parts of a hub that these operations use. */
export type ConsoleHub = Pick<Hub, "registry" | "sources" | "onSourceChange" | "retry" | "about"> & {
  readonly config: ResolvedConfig;
};

/** Maximum number of checks of one identity in a second. */
const maxChecks = 20;
const maxIdentities = 10_000;

const strings = (description: string) => Type.Array(Type.String(), { description });

const stepSchema = Type.Object({
  step: Type.Enum(["find", "scopes", "validate", "resource"]),
  outcome: Type.Enum(["ok", "failed", "unknown", "skipped"], {
    description: "unknown where only the call itself decides; skipped after a step that failed.",
  }),
  reason: Type.Optional(Type.String({ description: "Why the step failed, or what decides." })),
});

/** Output of `hub.status`. */
export const statusSchema = Type.Object({
  identity: Type.Object({
    id: Type.String(),
    scopes: strings("Rights of the caller."),
    isOperator: Type.Optional(Type.Boolean({ description: "Whether the caller may call everything." })),
  }),
  hub: Type.Object({
    version: Type.String(),
    startedAt: Type.Number({ description: "In milliseconds since the epoch." }),
    dev: Type.Boolean({ description: "Whether modules are loaded again when they change." }),
    doors: strings("How calls may arrive: http, mcp, websocket."),
    url: Type.Optional(Type.String()),
    config: Type.Optional(Type.String({ description: "Path of its configuration, for administrators." })),
    history: Type.Object({
      file: Type.Optional(Type.String()),
      keep: Type.Optional(Type.String()),
      payloads: strings("Operations whose inputs and outputs are recorded."),
    }),
  }),
  now: Type.Number({ description: "The clock of the hub, in milliseconds since the epoch." }),
});

/** Output of `hub.check`. */
export const checkSchema = Type.Object({
  steps: Type.Array(stepSchema),
  errors: Type.Array(Type.Object({ path: Type.String(), message: Type.String() }), {
    description: "What is wrong with the input.",
  }),
});

/** Output of `hub.access`. */
export const accessSchema = Type.Object({
  identities: Type.Array(
    Type.Object({
      id: Type.String(),
      scopes: strings("Rights of the identity."),
      operations: Type.Integer({ description: "Number of operations that it sees." }),
      mayCall: Type.Optional(Type.Boolean({ description: "Whether its scopes allow the operation." })),
      missing: Type.Optional(strings("Scopes that it lacks for the operation.")),
    }),
  ),
  rules: Type.Array(
    Type.Object({
      match: Type.String(),
      deny: Type.Optional(Type.Boolean()),
      type: Type.Optional(Type.Enum(["query", "mutation", "subscription"])),
      requiredScopes: Type.Optional(Type.Array(Type.String())),
    }),
  ),
});

/** The operations that the console needs beside those that manage the hub. */
export function consoleOperations(hub: ConsoleHub, history: History): IOperationDefinition[] {
  const define = defineNamespace("hub", {
    accessControl: { requiredScopes: [], requiredScopesAny: [hubScopes.read, hubScopes.admin] },
  });
  const forEveryone = { requiredScopes: [] };
  const forAdmins = { requiredScopes: [hubScopes.admin] };
  const readers = new Map<string, number>();
  const limitChecks = createLimit();
  return [
    define({
      name: "status",
      type: "query",
      description: "Returns who the caller is, and what this hub is.",
      accessControl: forEveryone,
      inputSchema: Type.Object({}),
      outputSchema: statusSchema,
      handler: (_, { identity }) => {
        const { id = "", scopes = [] } = identity ?? {};
        const who = { id, scopes: [...scopes], ...(isOperator(identity) && { isOperator: true }) };
        return { identity: who, hub: hub.about(isAdmin(identity)), now: Date.now() };
      },
    }),
    define({
      name: "check",
      type: "query",
      description: "Returns what would become of a call of the caller, without running it.",
      accessControl: forEveryone,
      inputSchema: Type.Object({
        id: Type.String({ description: "Id of the operation." }),
        input: Type.Optional(Type.Unknown()),
      }),
      outputSchema: checkSchema,
      handler: ({ id, input }, { identity }) => {
        limitChecks(identity);
        return checkCall(hub, id, input, identity);
      },
    }),
    define({
      name: "activity",
      type: "subscription",
      description: "Reports numbers and samples of calls at intervals: own calls, or all calls with hub:admin.",
      inputSchema: activityInput,
      outputSchema: activityOutput,
      handler: (input, context) => watchActivity(history, readers, input, context),
    }),
    define({
      name: "sourceChanges",
      type: "subscription",
      description: "Reports the new state of a source whenever it changes.",
      inputSchema: Type.Object({}),
      outputSchema: sourceStateSchema,
      handler: async function* (_, { signal }) {
        let wake = () => {};
        const changed = new Set<string>();
        const stop = hub.onSourceChange(({ name }) => {
          changed.add(name);
          wake();
        });
        const leave = () => wake();
        signal.addEventListener("abort", leave);
        try {
          while (!signal.aborted) {
            const states = hub.sources().filter(({ name }) => changed.has(name));
            changed.clear();
            yield* states;
            if (changed.size > 0 || signal.aborted) continue;
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
        } finally {
          stop();
          signal.removeEventListener("abort", leave);
        }
      },
    }),
    define({
      name: "retry",
      type: "mutation",
      description: "Tries a source that is not ready again, without waiting for its next attempt.",
      accessControl: forAdmins,
      inputSchema: Type.Object({ source: Type.String({ description: "Name of the source." }) }),
      outputSchema: Type.Object({ isTried: Type.Boolean({ description: "Whether it was waiting for an attempt." }) }),
      errors: { SOURCE_NOT_FOUND: Type.Object({ source: Type.String() }) },
      handler: ({ source }, { errors }) => {
        const isTried = hub.retry(source);
        if (isTried === undefined) throw errors.SOURCE_NOT_FOUND({ source }, `This hub has no source "${source}".`);
        return { isTried };
      },
    }),
    define({
      name: "access",
      type: "query",
      description: "Returns the identities of the configuration, and which of them may call an operation.",
      accessControl: forAdmins,
      inputSchema: Type.Object({
        identity: Type.Optional(Type.String({ description: "Only the identity with this id." })),
        operationId: Type.Optional(Type.String({ description: "Says for each identity whether it may call it." })),
      }),
      outputSchema: accessSchema,
      handler: (input) => describeAccess(hub, input),
    }),
  ];
}

/** An operation that the caller cannot see does not exist for it, unless it manages the hub. */
function checkCall({ registry }: ConsoleHub, id: string, input: unknown, identity: Identity | undefined) {
  const core = coreOf(registry);
  const steps = Call.check(core, id, input, identity);
  const denied = steps.find(({ step, outcome }) => step === "scopes" && outcome === "failed");
  if (denied !== undefined && !isAdmin(identity)) {
    const { message } = operationNotFound(id, nearestOperation(id, core.specs(), identity));
    const skipped = steps.slice(1).map(({ step }) => ({ step, outcome: "skipped" as const }));
    return { steps: [{ step: "find" as const, outcome: "failed" as const, reason: message }, ...skipped], errors: [] };
  }
  const invalid = steps.find(({ error }) => error?.code === "VALIDATION_ERROR")?.error;
  const { errors = [] } = (invalid?.details ?? {}) as { errors?: { path: string; message: string }[] };
  const customAuth = core.operations.get(id)?.access.customAuth;
  const reasonOf = (step: string) =>
    step === "resource" ? `customAuth "${customAuth}" decides` : "a validator decides";
  return {
    steps: steps.map(({ step, outcome, error }) => ({
      step,
      outcome,
      ...(error !== undefined && { reason: error.message }),
      ...(outcome === "unknown" && { reason: reasonOf(step) }),
    })),
    errors,
  };
}

function describeAccess({ registry, config }: ConsoleHub, given: { identity?: string; operationId?: string }) {
  const { operations } = coreOf(registry);
  const asked = given.operationId === undefined ? undefined : operations.get(given.operationId);
  const tokens = config.access?.tokens ?? [];
  const byId = new Map(tokens.map(({ identity }) => [identity.id, identity]));
  const selected = [...byId.values()].filter(({ id }) => given.identity === undefined || id === given.identity);
  const identities = selected.map((identity) => {
    let visible = 0;
    for (const entry of operations.values()) if (checkScopes(entry.access, identity) === true) visible += 1;
    const summary = { id: identity.id, scopes: [...identity.scopes], operations: visible };
    if (asked === undefined) return summary;
    const { requiredScopes, requiredScopesAny = [] } = asked.access;
    const lacks = (scope: string) => !identity.scopes.includes(scope);
    const missing = [
      ...requiredScopes.filter(lacks),
      ...(requiredScopesAny.every(lacks) ? requiredScopesAny.slice(0, 1) : []),
    ];
    return { ...summary, mayCall: checkScopes(asked.access, identity) === true, missing };
  });
  return { identities, rules: (config.rules ?? []).map(toRule) };
}

function toRule({ match, deny, type, requiredScopes }: HubRule) {
  return { match, deny, type, requiredScopes: requiredScopes && [...requiredScopes] };
}

/** Returns a function that throws when an identity checks too often. */
function createLimit(): (identity: Identity | undefined) => void {
  const windows = new BoundedMap<string, { second: number; count: number }>(maxIdentities);
  return (identity) => {
    const key = identity?.id ?? "";
    const second = Math.floor(Date.now() / 1_000);
    const known = windows.get(key);
    const count = known?.second === second ? known.count + 1 : 1;
    windows.set(key, { second, count });
    if (count > maxChecks) throw overloaded("Too many checks in one second have the same caller", maxChecks);
  };
}
