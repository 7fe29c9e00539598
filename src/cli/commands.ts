import type { LoadedCommand } from "./command.ts";

/** A row of the table of commands. */
export interface CommandEntry {
  /** What the command does, in one sentence. */
  readonly summary: string;
  /** Loads the command. Only the command that runs is loaded, so that all of them start fast. */
  load(): Promise<LoadedCommand>;
}

/** All commands by name, in the order of the help. */
export const commands: Readonly<Record<string, CommandEntry>> = {
  serve: {
    summary: "Serve operations over HTTP, MCP and WebSocket, or over MCP on stdio.",
    load: async () => (await import("./commands/serve.ts")).serve,
  },
  list: {
    summary: "List operations, or search them.",
    load: async () => (await import("./commands/list.ts")).list,
  },
  describe: {
    summary: "Print the TypeScript signature, an example, the errors and the access rule of an operation.",
    load: async () => (await import("./commands/describe.ts")).describe,
  },
  call: {
    summary: "Call an operation and print its result.",
    load: async () => (await import("./commands/call.ts")).call,
  },
  subscribe: {
    summary: "Subscribe to an operation and print its values, one per line.",
    load: async () => (await import("./commands/subscribe.ts")).subscribe,
  },
  types: {
    summary: "Write TypeScript types for all operations, or check that contracts did not change.",
    load: async () => (await import("./commands/types.ts")).types,
  },
};
