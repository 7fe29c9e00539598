import { mkdir, readdir, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

/** What {@link createProject} did with the files of a new project. */
export interface CreatedProject {
  /** The folder. */
  readonly folder: string;
  /** Files that were created, in the order in which to read them. */
  readonly created: readonly string[];
  /** Files that existed and were not changed. */
  readonly kept: readonly string[];
}

/** The configuration of a new project. */
export const projectConfig = "operations.config.ts";

/** Finds configurations in the names of a folder. */
const configPattern = /^operations\.config\.(?:[cm]?[jt]s|json|ya?ml)$/;

/** Finds the configuration of a folder that may not exist yet. */
export async function findExistingConfig(folder: string): Promise<string | undefined> {
  const names = await readdir(folder).catch(() => []);
  return names.find((name) => configPattern.test(name));
}

/** Creates the files of a project that serves one operation. Files that exist are never changed. */
export async function createProject(folder: string, version: string): Promise<CreatedProject> {
  const created: string[] = [];
  const kept: string[] = [];
  for (const [name, content] of Object.entries(projectFiles(basename(resolve(folder)), version))) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    try {
      await writeFile(path, content, { flag: "wx" });
      created.push(name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      kept.push(name);
    }
  }
  return { folder, created, kept };
}

function projectFiles(title: string, version: string): Record<string, string> {
  const manifest = {
    name: toPackageName(title),
    private: true,
    type: "module",
    scripts: {
      start: `operations serve --config ${projectConfig}`,
      dev: `operations serve --dev --config ${projectConfig}`,
    },
    dependencies: { "@alkdev/operations": `^${version}` },
  };
  const compiler = { target: "es2022", module: "nodenext", strict: true, skipLibCheck: true, noEmit: true };
  return {
    "package.json": `${JSON.stringify(manifest, null, 2)}\n`,
    [projectConfig]: configFile,
    "operations/greeting.ts": operationFile,
    "tsconfig.json": `${JSON.stringify({ compilerOptions: compiler }, null, 2)}\n`,
    ".gitignore": "node_modules/\n*.db\n*.db-*\n.env\n",
    "README.md": readmeFile(title),
  };
}

/** Returns a valid name of an npm package. */
function toPackageName(title: string): string {
  const name = title
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[._-]+|-+$/g, "");
  return name.slice(0, 214) || "operations-project";
}

const configFile = `import { defineConfig } from "@alkdev/operations/hub";

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
`;

const operationFile = `import { defineOperation, Type } from "@alkdev/operations";

export default defineOperation({
  namespace: "greeting",
  name: "hello",
  type: "query",
  description: "Greets a person.",
  inputSchema: Type.Object({ name: Type.String({ description: "Name of the person." }) }),
  outputSchema: Type.Object({ message: Type.String() }),
  handler: ({ name }) => ({ message: \`Hello, \${name}!\` }),
});
`;

function readmeFile(title: string): string {
  return `# ${title}

\`\`\`sh
npm install
npx operations serve                          # HTTP, MCP and WebSocket on http://127.0.0.1:4000
npx operations list
npx operations call greeting.hello name=Ada
npx operations mcp-config --for claude        # plug it into Claude Code, Cursor, VS Code …
\`\`\`

Each file in \`operations/\` exports one operation, or a list of them, as its default export.
\`operations.config.ts\` adds HTTP APIs and MCP servers.
`;
}
