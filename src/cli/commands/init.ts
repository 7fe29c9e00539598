import { mkdir, readdir, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { findConfig } from "../../hub/config-load.ts";
import { quote } from "../../internal/text.ts";
import { defineCommand } from "../command.ts";
import { fileError, program, usageError } from "../failures.ts";
import { checkTrust, storeTrust } from "../trust.ts";
import { readTemplate } from "./templates.ts";

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

/** The files of a project, in the order in which to read them. In the package, `gitignore` has no dot, because npm omits it. */
const templates = ["operations.config.ts", "operations/greeting.ts", "tsconfig.json", "gitignore", "README.md"];

/** Returns the content of the files of a project by their names. */
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
  const files = templates.map((file) => [
    file === "gitignore" ? ".gitignore" : file,
    readTemplate(`project/${file}`).replace(/^# Title$/m, () => `# ${title}`),
  ]);
  return { "package.json": `${JSON.stringify(manifest, null, 2)}\n`, ...Object.fromEntries(files) };
}
