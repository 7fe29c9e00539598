import type { Command } from "./command.ts";
import { program, unknownName } from "./failures.ts";

/** What each command does, in the order of the help. */
export const summaries = {
  serve: "Serve operations over HTTP, MCP and WebSocket, or over MCP on stdio.",
  list: "List operations, or search them.",
  describe: "Print the TypeScript signature, an example, the errors and the access rule of an operation.",
  call: "Call an operation and print its result.",
  subscribe: "Subscribe to an operation and print its values, one per line.",
  calls: "Print the calls of a running hub, one of them as a tree, or new ones as they end.",
  sources: "Print the sources of a running hub and their states.",
  console: "Print a link that signs you in to the console of a running hub.",
  types: "Write TypeScript types for all operations, or check that contracts did not change.",
  init: "Create a project that serves operations.",
  token: "Create a token for a caller.",
  trust: "Allow the configuration of a folder to run.",
  doctor: "Find problems, and print how to fix them.",
  "mcp-config": "Print what adds the operations to an editor, as an MCP server.",
  completion: "Print the completion script of a shell.",
  help: "Print the help of the program or of a command.",
};

/** Only the command that runs is loaded, so that all of them start fast. `complete` is for the scripts of shells. */
const loaders: Readonly<Record<keyof typeof summaries | "complete", () => Promise<Command>>> = {
  serve: async () => (await import("./commands/serve.ts")).serve,
  list: async () => (await import("./commands/list.ts")).list,
  describe: async () => (await import("./commands/describe.ts")).describe,
  call: async () => (await import("./commands/call.ts")).call,
  subscribe: async () => (await import("./commands/call.ts")).subscribe,
  calls: async () => (await import("./commands/calls.ts")).calls,
  sources: async () => (await import("./commands/sources.ts")).sources,
  console: async () => (await import("./commands/console.ts")).console,
  types: async () => (await import("./commands/types.ts")).types,
  init: async () => (await import("./commands/init.ts")).init,
  token: async () => (await import("./commands/access.ts")).token,
  trust: async () => (await import("./commands/access.ts")).trust,
  doctor: async () => (await import("./commands/doctor.ts")).doctor,
  "mcp-config": async () => (await import("./commands/mcp-config.ts")).mcpConfig,
  completion: async () => (await import("./commands/completion.ts")).completion,
  help: async () => (await import("./commands/help.ts")).help,
  complete: async () => (await import("./commands/completion.ts")).complete,
};

/** Loads a command. Throws for an unknown name, with the one that was probably meant. */
export async function loadCommand(name: string): Promise<Command> {
  if (Object.hasOwn(loaders, name)) return loaders[name as keyof typeof loaders]();
  throw unknownName("command", name, Object.keys(summaries), `Run "${program} --help" for a list.`);
}
