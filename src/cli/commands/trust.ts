import { resolve } from "node:path";
import { findConfig } from "../../hub/config-load.ts";
import { findStateFolder } from "../../hub/state-folder.ts";
import { quote } from "../../internal/text.ts";
import { defineCommand } from "../command.ts";
import { usageError } from "../failures.ts";
import { checkTrust, describeActions, revokeTrust, storeTrust } from "../trust.ts";

/** `operations trust [FILE]` */
export const trust = defineCommand({
  examples: ["trust", "trust other/operations.config.json", "trust --revoke"],
  arguments: "[FILE]",
  maxArguments: 1,
  options: { revoke: { type: "boolean", description: "End the trust." } },
  run: async ({ positionals, options, folder, environment, stdout, stderr }) => {
    const file = positionals[0] === undefined ? await findConfig(folder) : resolve(folder, positionals[0]);
    if (file === undefined)
      throw usageError("There is no operations.config file in this folder. Name it: operations trust FILE.");
    if (findStateFolder(environment) === undefined) {
      throw usageError(
        "There is no home folder to store the trust in. Set XDG_STATE_HOME, or name the file with --config.",
      );
    }
    const print = (text: string, result: object) =>
      stdout.write(options.json ? `${JSON.stringify(result)}\n` : `${text}\n`);
    if (options.revoke) {
      const revoked = await revokeTrust(file, environment);
      return print(`${quote(file, 1_000)} ${revoked ? "is no longer trusted." : "was not trusted."}`, {
        file,
        revoked,
      });
    }
    const check = await checkTrust(file, environment).catch((error: NodeJS.ErrnoException) => {
      throw error.code === "ENOENT" ? usageError(`The file ${quote(file, 1_000)} does not exist.`) : error;
    });
    await storeTrust(check, environment);
    if (!options.json && check.actions.length > 0) await stderr.write(`${describeActions(check)}\n`);
    await print(`${quote(check.file, 1_000)} is trusted until it changes.`, {
      file: check.file,
      actions: check.actions,
    });
  },
});
