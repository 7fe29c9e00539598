/** `npm start`: builds the `operations` command, so that `npx operations` works, and runs the hub of `examples/hub`. */
import { buildCommand } from "./build-command.ts";

console.log("Building the operations command …");
await buildCommand();
await import("../examples/hub/start.ts");
