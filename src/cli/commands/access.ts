import { dirname, resolve } from "node:path";
import { createToken } from "../../auth/index.ts";
import { findConfig } from "../../hub/config-load.ts";
import { findStateFolder } from "../../hub/state-folder.ts";
import { quote } from "../../internal/text.ts";
import { defineCommand } from "../command.ts";
import { program, usageError } from "../failures.ts";
import { checkTrust, describeActions, revokeTrust, storeTrust } from "../trust.ts";

/** `operations token ID` */
export const token = defineCommand({
  examples: ["token ada --scopes tasks,github", "token ci --scopes hub:read --json"],
  arguments: "ID",
  options: {
    scopes: { type: "string", value: "SCOPE,…", description: "Scopes of the caller. Default: none." },
  },
  run: async ({ positionals, options, print, stderr }) => {
    const id = positionals[0]!;
    if (id === "") throw usageError(`The id of the caller is empty. Pass a name: "${program} token ada".`);
    const scopes = (options.scopes ?? "").split(",").filter((scope) => scope !== "");
    const { token, hash } = createToken();
    const entry = { hash, identity: { id, scopes } };
    const note =
      "The token is shown once. Send it to the caller, and add this line to access.tokens of the configuration:";
    if (!options.json) await stderr.write(`${note}\n\n  ${JSON.stringify(entry)},\n\n`);
    await print(`${token}\n`, { token, ...entry });
  },
});

/** `operations trust [FILE]` */
export const trust = defineCommand({
  examples: ["trust", "trust other/operations.config.json", "trust --revoke"],
  arguments: "[FILE]",
  completes: "files",
  options: { revoke: { type: "boolean", description: "Revoke the trust." } },
  run: async ({ positionals, options, folder, environment, print, stderr }) => {
    const file = positionals[0] === undefined ? await findConfig(folder) : resolve(folder, positionals[0]);
    if (file === undefined) {
      throw usageError(`There is no operations.config file in this folder. Name it: ${program} trust FILE.`);
    }
    if (findStateFolder(environment) === undefined) {
      throw usageError(
        "There is no home folder to store the trust in. Set XDG_STATE_HOME, or name the file with --config.",
      );
    }
    if (options.revoke) {
      const revoked = await revokeTrust(file, environment);
      const text = `The folder ${quote(dirname(file), 1_000)} ${revoked ? "is no longer trusted." : "was not trusted."}\n`;
      return print(text, { file, revoked });
    }
    const trust = await checkTrust(file, environment).catch((error: NodeJS.ErrnoException) => {
      throw error.code === "ENOENT" ? usageError(`The file ${quote(file, 1_000)} does not exist.`) : error;
    });
    await storeTrust(trust, environment);
    const { file: path, actions } = trust;
    if (!options.json && actions.length > 0) await stderr.write(`${describeActions(trust)}\n`);
    await print(`The folder ${quote(dirname(path), 1_000)} is trusted, also after later changes.\n`, {
      file: path,
      actions,
    });
  },
});
