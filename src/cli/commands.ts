import type { LoadedCommand } from "./command.ts";

/** A row of the table of commands. */
export interface CommandEntry {
  /** What the command does, in one sentence. */
  readonly summary: string;
  /** Whether only programs use it, so that the help does not list it. @default false */
  readonly hidden?: boolean;
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
  init: {
    summary: "Create a project that serves operations.",
    load: async () => (await import("./commands/init.ts")).init,
  },
  token: {
    summary: "Create a token for a caller.",
    load: async () => (await import("./commands/token.ts")).token,
  },
  trust: {
    summary: "Allow the configuration of a folder to run.",
    load: async () => (await import("./commands/trust.ts")).trust,
  },
  doctor: {
    summary: "Find out what does not work, and how to fix it.",
    load: async () => (await import("./commands/doctor.ts")).doctor,
  },
  "mcp-config": {
    summary: "Add the operations to an editor, as an MCP server.",
    load: async () => (await import("./commands/mcp-config.ts")).mcpConfig,
  },
  completion: {
    summary: "Print the completion script of a shell.",
    load: async () => (await import("./commands/completion.ts")).completion,
  },
  help: {
    summary: "Print the help of the program or of a command.",
    load: async () => (await import("./commands/help.ts")).help,
  },
  complete: {
    summary: "Print completions for a shell.",
    hidden: true,
    load: async () => (await import("./commands/completion.ts")).complete,
  },
};

/** Names of the commands that the help lists. */
export function listedCommands(): string[] {
  return Object.keys(commands).filter((name) => !commands[name]!.hidden);
}
