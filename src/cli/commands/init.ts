import { mkdir, readdir, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { findConfig } from "../../hub/config-load.ts";
import { quote } from "../../internal/text.ts";
import { defineCommand } from "../command.ts";
import { fileError, program, usageError } from "../failures.ts";
import { checkTrust, storeTrust } from "../trust.ts";

declare const __PACKAGE_VERSION__: string;

const configName = "operations.config.ts";

/** `operations init [FOLDER]` */
export const init = defineCommand({
  examples: ["init", "init my-hub"],
  arguments: "[FOLDER]",
  completes: "files",
  options: {},
  run: async ({ positionals, folder: current, environment, print }) => {
    const folder = resolve(current, positionals[0] ?? ".");
    const existing = await findConfig(folder);
    if (existing !== undefined) {
      throw usageError(`${quote(existing, 1_000)} exists. Delete it first, or name another folder.`);
    }
    const isNew = await readdir(folder).then(
      ({ length }) => length === 0,
      ({ code }) => code === "ENOENT",
    );
    const files = await writeFiles(folder);
    // The user requested these files, so commands may run them without asking. Other modules may be of a cloned repository.
    const trust = await checkTrust(join(folder, configName), environment);
    if (isNew) await storeTrust(trust, environment).catch(() => {}); // They ask if it cannot be stored.
    await print(format(files, relative(current, folder), isNew), { folder, ...files, trusted: isNew });
  },
});

/** The names of files that were created, and of those that existed and were not changed. */
interface WrittenFiles {
  readonly created: string[];
  readonly kept: string[];
}

/** Writes the files of a project. Those that exist are never changed. */
async function writeFiles(folder: string): Promise<WrittenFiles> {
  const written: WrittenFiles = { created: [], kept: [] };
  for (const [name, content] of Object.entries(createFiles(basename(folder)))) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true }).catch((error) => {
      throw fileError(dirname(path), "written", error);
    });
    try {
      await writeFile(path, content, { flag: "wx" });
      written.created.push(name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw fileError(path, "written", error);
      written.kept.push(name);
    }
  }
  return written;
}

function format({ created, kept }: WrittenFiles, folder: string, isTrusted: boolean): string {
  const install = kept.includes("package.json") ? "npm install @alkdev/operations" : "npm install";
  const change = folder === "" ? "" : `  cd ${/^[\w./-]+$/.test(folder) ? folder : JSON.stringify(folder)}\n`;
  const trust = isTrusted ? "" : `  ${program} trust    # after reading the files that were in the folder before\n`;
  return `${created.map((file) => `created  ${join(folder, file)}\n`).join("")}${kept.map((file) => `kept     ${join(folder, file)}\n`).join("")}
Next:
${change}  ${install}
${trust}  ${program} serve
  ${program} call greeting.hello name=Ada
`;
}

/** The files of a project with one operation, in the order in which to read them. */
function createFiles(title: string): Record<string, string> {
  // A valid name of an npm package.
  const name = title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
  const manifest = {
    name: name || "operations-project",
    private: true,
    type: "module",
    scripts: {
      start: `operations serve --config ${configName}`,
      dev: `operations serve --dev --config ${configName}`,
    },
    dependencies: { "@alkdev/operations": `^${__PACKAGE_VERSION__}` },
    devDependencies: { "@types/node": "^20.19.0" },
  };
  const compilerOptions = {
    target: "es2022",
    module: "nodenext",
    types: ["node"], // Of `process.env`.
    strict: true,
    skipLibCheck: true,
    noEmit: true,
  };
  return {
    "package.json": `${JSON.stringify(manifest, null, 2)}\n`,
    [configName]: `import { defineConfig } from "@alkdev/operations/hub";

export default defineConfig({
  sources: {
    local: { modules: "./operations" },
    // An HTTP API, from its OpenAPI document:
    // petstore: { openapi: "https://petstore3.swagger.io/api/v3/openapi.json" },
    // An MCP server:
    // files: { mcp: { command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "."] } },
  },
  serve: { port: 4000 },
});
`,
    "operations/greeting.ts": `import { defineOperation, Type } from "@alkdev/operations";

export default defineOperation({
  namespace: "greeting",
  name: "hello",
  type: "query",
  description: "Greets a person.",
  inputSchema: Type.Object({ name: Type.String({ description: "Name of the person." }) }),
  outputSchema: Type.Object({ message: Type.String() }),
  handler: ({ name }) => ({ message: \`Hello, \${name}!\` }),
});
`,
    "tsconfig.json": `${JSON.stringify({ compilerOptions }, null, 2)}\n`,
    ".gitignore": "node_modules/\n*.db\n*.db-*\n.env\n",
    "README.md": `# ${title}

\`\`\`sh
npm install
${program} serve                      # HTTP, MCP and WebSocket on http://127.0.0.1:4000
${program} list
${program} call greeting.hello name=Ada
${program} mcp-config --for claude    # plug it into Claude Code, Cursor, VS Code …
\`\`\`

Each file in \`operations/\` exports one operation, or a list of them, as its default export.
\`operations.config.ts\` adds HTTP APIs and MCP servers.
`,
  };
}
