import { realpath } from "node:fs/promises";
import { relative, resolve, sep } from "node:path";
import { findConfig } from "../../hub/config-load.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { type EditorServer, editors } from "../editors.ts";
import { program, unknownName, usageError } from "../failures.ts";
import { hubOf, targetOptions, toHubURL } from "../target.ts";
import { quoteForShell } from "./describe.ts";

const editorNames = Object.keys(editors);

/** `operations mcp-config --for EDITOR` */
export const mcpConfig = defineCommand({
  examples: [
    "mcp-config --for claude",
    "mcp-config --for claude-desktop --config operations.config.ts",
    "mcp-config --for vscode --hub http://127.0.0.1:4000",
  ],
  options: {
    for: {
      type: "string",
      value: "EDITOR",
      description: `The editor: ${editorNames.join(", ")}.`,
      values: editorNames,
    },
    name: { type: "string", value: "NAME", description: "Name of the server. Default: operations." },
    config: targetOptions.config,
    hub: targetOptions.hub,
  },
  run: async (context) => {
    const { options, stdout, stderr } = context;
    if (options.for === undefined) {
      throw usageError(`Pass --for with the name of an editor: ${editorNames.join(", ")}.`);
    }
    if (!Object.hasOwn(editors, options.for)) throw unknownName("editor", options.for, editorNames);
    const { title, projectFile, userFile, serversKey, programFields, projectFolder, toRemote, input, toCommand } =
      editors[options.for]!;
    const name = options.name ?? "operations";
    const server = await createServer(context, projectFile !== undefined, projectFolder);
    const isRemote = "url" in server;
    const entry = isRemote ? toRemote?.(server.url) : { ...programFields, ...server };
    const command = toCommand?.(name, server).map(quoteForShell).join(" ");
    // A TOML file is changed with the command of the product.
    const isPrinted = entry !== undefined && !projectFile?.endsWith(".toml");
    if (!isPrinted && command === undefined) {
      throw usageError(`The file of ${title} cannot contain URLs, only programs. Pass --config instead of --hub.`);
    }
    const block = { ...(isRemote && input !== undefined && { inputs: [input] }), [serversKey]: { [name]: entry } };
    await stdout.write(isPrinted ? `${JSON.stringify(block, null, 2)}\n` : `${command}\n`);
    if (options.json) return;
    const place = `${projectFile === undefined ? "" : `${projectFile} or `}${userFile}`;
    const advice = isPrinted ? `Add this to ${place}.` : `Run this command, which changes ${place}.`;
    const other = isPrinted && command !== undefined ? ` Or run: ${command}` : "";
    const token = isRemote
      ? `Set OPERATIONS_TOKEN where ${title} runs. The hub prints its token when it starts; \`${program} token NAME\` creates one for \`access.tokens\`.\n`
      : "";
    await stderr.write(`${advice}${other}\n${token}`);
  },
});

type Context = CommandContext<Pick<typeof targetOptions, "config" | "hub">>;

async function createServer(context: Context, isForProject: boolean, projectFolder?: string): Promise<EditorServer> {
  const { options, folder, environment } = context;
  const hub = hubOf(options, environment);
  if (hub !== undefined) return { url: new URL("mcp", toHubURL(hub).href.replace(/\/?$/, "/")).href };
  const config = options.config === undefined ? await findConfig(folder) : resolve(folder, options.config);
  if (config === undefined) {
    throw usageError(
      "There is no operations.config file in this folder. Pass --config FILE, or --hub URL of a running hub.",
    );
  }
  const serve = ["serve", "--stdio", "--config"];
  // Editors start the programs of a user's file in any folder, often without the user's PATH.
  if (!isForProject) return { command: process.execPath, args: [await realpath(process.argv[1]!), ...serve, config] };
  // The file may be shared with others, who have the project in another folder.
  const path = relative(folder, config).split(sep).join("/");
  const named = projectFolder === undefined ? path : `${projectFolder}/${path}`;
  return { command: "npx", args: ["-y", "@alkdev/operations", ...serve, named] };
}
