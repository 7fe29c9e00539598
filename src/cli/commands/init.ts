import { join, relative, resolve } from "node:path";
import { findStateFolder } from "../../hub/state-folder.ts";
import { quote } from "../../internal/text.ts";
import { defineCommand } from "../command.ts";
import { usageError } from "../failures.ts";
import { type CreatedProject, createProject, findExistingConfig, projectConfig } from "../project.ts";
import { checkTrust, storeTrust } from "../trust.ts";

declare const __PACKAGE_VERSION__: string;

/** `operations init [FOLDER]` */
export const init = defineCommand({
  examples: ["init", "init my-hub"],
  arguments: "[FOLDER]",
  maxArguments: 1,
  options: {},
  run: async ({ positionals, options, folder: current, environment, stdout }) => {
    const folder = resolve(current, positionals[0] ?? ".");
    const existing = await findExistingConfig(folder);
    if (existing !== undefined) {
      throw usageError(`${quote(join(folder, existing), 1_000)} exists. Delete it first, or name another folder.`);
    }
    const project = await createProject(folder, __PACKAGE_VERSION__);
    // The user requested this file, so that commands may run it without asking.
    if (findStateFolder(environment) !== undefined) {
      await storeTrust(await checkTrust(join(folder, projectConfig), environment), environment);
    }
    await stdout.write(options.json ? `${JSON.stringify(project)}\n` : format(project, relative(current, folder)));
  },
});

function format({ created, kept }: CreatedProject, folder: string): string {
  const install = kept.includes("package.json") ? "npm install @alkdev/operations" : "npm install";
  return [
    ...created.map((file) => `created  ${join(folder, file)}`),
    ...kept.map((file) => `kept     ${join(folder, file)}`),
    "",
    "Next:",
    ...(folder === "" ? [] : [`  cd ${/^[\w./-]+$/.test(folder) ? folder : JSON.stringify(folder)}`]),
    `  ${install}`,
    "  npx operations serve",
    "  npx operations call greeting.hello name=Ada",
    "",
  ].join("\n");
}
