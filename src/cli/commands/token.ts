import { createToken } from "../../auth/index.ts";
import { defineCommand } from "../command.ts";
import { usageError } from "../failures.ts";

/** `operations token ID` */
export const token = defineCommand({
  examples: ["token ada --scopes tasks,github", "token ci --scopes hub:read --json"],
  arguments: "ID",
  minArguments: 1,
  maxArguments: 1,
  options: {
    scopes: { type: "string", value: "SCOPE,…", description: "What the caller may do. Default: no scope." },
  },
  run: async ({ positionals, options, stdout, stderr }) => {
    const id = positionals[0]!;
    if (id === "") throw usageError('The id of the caller is empty. Pass a name: "operations token ada".');
    const scopes = (options.scopes ?? "").split(",").filter((scope) => scope !== "");
    const { token, hash } = createToken();
    const entry = { hash, identity: { id, scopes } };
    if (options.json) return stdout.write(`${JSON.stringify({ token, ...entry })}\n`);
    await stderr.write(
      `The token is shown once. Send it to the caller, and add this line to access.tokens of the configuration:\n\n  ${JSON.stringify(entry)},\n\n`,
    );
    await stdout.write(`${token}\n`);
  },
});
