/**
 * `npm start`: builds the `operations` command, so that `npx @alkdev/operations` works, and the page of the console. Then it
 * runs the hub of `examples/hub`.
 */
import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildCommand } from "./build-command.ts";
import { buildConsole } from "./build-console.ts";
import { root } from "./subpaths.ts";

console.log("Building the operations command and the console …");
const program = await buildCommand();
await buildConsole();
// npm links the command of a package that is installed, but not that of the package itself.
const isWindows = process.platform === "win32";
const link = join(root, "node_modules/.bin", isWindows ? "operations.cmd" : "operations");
rmSync(link, { force: true });
if (isWindows) writeFileSync(link, `@node "${program}" %*\r\n`);
else symlinkSync(program, link);
await import("../examples/hub/start.ts");
