import { existsSync } from "node:fs";
import { mkdir, readFile, realpath, rename, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, relative, resolve, sep } from "node:path";
import { findConfig } from "../../hub/config-load.ts";
import { type Editor, editors } from "../../hub/editors.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { addServer, type EditorServer } from "../editors.ts";
import { fileError, unknownName, usageError } from "../failures.ts";
import { hubOf, targetOptions, toHubURL } from "../target.ts";

const editorNames = Object.keys(editors);

/** `operations mcp-config --for EDITOR` */
export const mcpConfig = defineCommand({
  examples: [
    "mcp-config --for claude",
    "mcp-config --for cursor --write",
    "mcp-config --for claude-desktop --write --config operations.config.ts",
    "mcp-config --for vscode --hub http://127.0.0.1:4000",
  ],
  options: {
    for: {
      type: "string",
      value: "EDITOR",
      description: `The editor: ${editorNames.join(", ")}.`,
      values: editorNames,
    },
    write: { type: "boolean", description: "Change the file of the editor. Comments and other servers stay." },
    user: { type: "boolean", description: "Use the file for all projects instead of the one in this folder." },
    name: { type: "string", value: "NAME", description: "Name of the server. Default: operations." },
    config: targetOptions.config,
    hub: targetOptions.hub,
  },
  run: async (context) => {
    const { options, stdout, stderr } = context;
    const editor = findEditor(options.for);
    const path = findFile(editor, context);
    const server = await createServer(editor, context);
    const name = options.name ?? "operations";
    if (options.write !== true) {
      await stdout.write(addServer(editor, path, "", name, server));
      if (!options.json) await stderr.write(`Add this to ${path}, or run the command with --write.\n`);
      return;
    }
    await edit(path, (content) => addServer(editor, path, content, name, server));
    if (!options.json && "url" in server) {
      await stderr.write(`Set OPERATIONS_TOKEN to a token of the hub where ${editor.title} runs.\n`);
    }
    await stdout.write(options.json ? `${JSON.stringify({ file: path, name })}\n` : `Wrote ${path}\n`);
  },
});

type Context = CommandContext<(typeof mcpConfig)["options"]>;

function findEditor(name: string | undefined): Editor {
  if (name === undefined) throw usageError(`Pass --for with the name of an editor: ${editorNames.join(", ")}.`);
  if (Object.hasOwn(editors, name)) return editors[name]!;
  throw unknownName("editor", name, editorNames);
}

/** Whether the server is written to a file that belongs to the project, and may be shared. */
function isForProject({ projectFile }: Editor, { options }: Context): boolean {
  return projectFile !== undefined && options.user !== true;
}

function findFile(editor: Editor, context: Context): string {
  if (isForProject(editor, context)) return join(context.folder, editor.projectFile!);
  const { environment } = context;
  const isWindows = process.platform === "win32";
  const home = environment["HOME"] || (isWindows ? homedir() : undefined);
  if (home === undefined) throw usageError("The file is in the home folder, which is unknown. Set HOME.");
  const [folder, path] = editor.userFile;
  if (folder === "home") return resolve(home, path);
  if (process.platform === "darwin") return resolve(home, "Library/Application Support", path);
  const settings = isWindows ? environment["APPDATA"] : environment["XDG_CONFIG_HOME"];
  return resolve(settings || join(home, isWindows ? "AppData/Roaming" : ".config"), path);
}

async function createServer(editor: Editor, context: Context): Promise<EditorServer> {
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
  if (!isForProject(editor, context)) {
    // Editors start the server in any folder, often without the user's PATH.
    return { command: process.execPath, args: [await realpath(process.argv[1]!), ...serve, config] };
  }
  // The file may be shared with others, who have the project in another folder.
  const path = relative(folder, config).split(sep).join("/");
  const named = editor.projectFolder === undefined ? path : `${editor.projectFolder}/${path}`;
  return { command: "npx", args: ["-y", "@alkdev/operations", ...serve, named] };
}

/** Replaces the content of a file, which may not exist yet. Readers never see half of it. A link stays a link. */
async function edit(path: string, change: (content: string) => string): Promise<void> {
  const target = await realpath(path).catch(() => path);
  const refuse = (action: "read" | "written") => (error: unknown) => {
    throw fileError(path, action, error);
  };
  const after = change(existsSync(target) ? await readFile(target, "utf8").catch(refuse("read")) : "");
  const { mode } = await stat(target).catch(() => ({ mode: 0o666 }));
  const partial = `${target}.${process.pid}.partial`;
  await mkdir(dirname(target), { recursive: true })
    .then(() => writeFile(partial, after, { mode: mode & 0o777 }))
    .then(() => rename(partial, target))
    .catch(refuse("written"));
}
