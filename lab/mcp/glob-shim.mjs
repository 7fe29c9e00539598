/** Node 20 has no `fs.globSync`. The conformance suite imports it, but does not call it when it tests a client. */
import fs from "node:fs";
import { register } from "node:module";

const toURL = (source) => `data:text/javascript,${encodeURIComponent(source)}`;
const shim = toURL(`export * from "node:fs"; export { default } from "node:fs"; export const globSync = undefined;`);
const hooks = toURL(`export const resolve = (specifier, context, next) =>
  specifier === "fs" && context.parentURL?.includes("/conformance/")
    ? { url: ${JSON.stringify(shim)}, shortCircuit: true }
    : next(specifier, context);`);
if (!("globSync" in fs)) register(hooks);
