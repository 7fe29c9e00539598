import { mkdir, readFile, realpath, rename, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, relative, resolve, sep } from "node:path";
import { findConfig } from "../../hub/config-load.ts";
import { nearest } from "../../internal/nearest.ts";
import { quote } from "../../internal/text.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import {
  addServer,
  type Editor,
  type EditorServer,
  EditProblem,
  editors,
  formatServer,
  tokenVariable,
  type UserPlaces,
} from "../editors.ts";
import { unknownName, usageError } from "../failures.ts";
import { targetOptions } from "../target.ts";

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
    write: { type: "boolean", description: "Write the file of the editor. Comments and other servers stay." },
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
    try {
      if (options.write !== true) {
        await stdout.write(formatServer(editor, name, server));
        if (!options.json) await stderr.write(`Add this to ${path}, or run the command with --write.\n`);
        return;
      }
      await edit(path, (content) => addServer(editor, content, name, server));
    } catch (error) {
      if (!(error instanceof EditProblem)) throw error;
      throw usageError(`${quote(path, 1_000)} of ${editor.title} was not changed: ${error.message}.`);
    }
    if (!options.json && "url" in server) {
      await stderr.write(`Set ${tokenVariable} to a token of the hub where ${editor.title} runs.\n`);
    }
    await stdout.write(options.json ? `${JSON.stringify({ file: path, name })}\n` : `Wrote ${path}\n`);
  },
});

type Context = CommandContext<(typeof mcpConfig)["options"]>;

function findEditor(name: string | undefined): Editor {
  if (name === undefined) throw usageError(`Pass --for with the name of an editor: ${editorNames.join(", ")}.`);
  if (Object.hasOwn(editors, name)) return editors[name]!;
  const help = ` Use ${editorNames.join(", ")}.`;
  throw unknownName(`There is no editor ${quote(name)}.`, nearest(name, editorNames), help);
}

/** Whether the server is written to a file that belongs to the project, and may be shared. */
function isForProject({ projectFile }: Editor, { options }: Context): boolean {
  return projectFile !== undefined && options.user !== true;
}

function findFile(editor: Editor, context: Context): string {
  if (isForProject(editor, context)) return join(context.folder, editor.projectFile!);
  const places = findPlaces(context.environment);
  if (places === undefined) throw usageError("There is no home folder, which contains the file. Set HOME.");
  return resolve(editor.userFile(places));
}

function findPlaces(environment: Context["environment"]): UserPlaces | undefined {
  const home = environment["HOME"] || (process.platform === "win32" ? homedir() : undefined);
  if (home === undefined) return undefined;
  if (process.platform === "win32") return { home, settings: environment["APPDATA"] || join(home, "AppData/Roaming") };
  if (process.platform === "darwin") return { home, settings: join(home, "Library/Application Support") };
  return { home, settings: environment["XDG_CONFIG_HOME"] || join(home, ".config") };
}

async function createServer(editor: Editor, context: Context): Promise<EditorServer> {
  const { options, folder } = context;
  if (options.hub !== undefined && options.config !== undefined) throw usageError("Pass --config or --hub, not both.");
  if (options.hub !== undefined) {
    if (!URL.canParse(options.hub)) throw usageError(`--hub is not a URL: ${quote(options.hub)}.`);
    return { url: new URL("mcp", options.hub.replace(/\/?$/, "/")).href };
  }
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
  const before = await readFile(target, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });
  const after = change(before);
  await mkdir(dirname(target), { recursive: true });
  const partial = `${target}.${process.pid}.partial`;
  const mode = await stat(target).then(
    (found) => found.mode & 0o777,
    () => 0o666,
  );
  await writeFile(partial, after, { mode });
  await rename(partial, target);
}
