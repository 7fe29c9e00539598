/** `node loaded-packages.mjs <prefix> <module …>`: prints which packages with a prefix importing the modules loads. */
import { register } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { MessageChannel } from "node:worker_threads";

const hooks = `let port;
export const initialize = (data) => { port = data.port; };
export const resolve = (specifier, context, next) => {
  port.postMessage(specifier);
  return next(specifier, context);
};`;

const [prefix, ...modules] = process.argv.slice(2);
const { port1, port2 } = new MessageChannel();
const seen = new Set();
port1.on("message", (specifier) => seen.add(specifier)).unref();
register(`data:text/javascript,${encodeURIComponent(hooks)}`, { data: { port: port2 }, transferList: [port2] });

const last = "node:querystring"; // no code of ours imports it; when it was reported, all others were too
for (const module of modules) await import(pathToFileURL(module).href);
await import(last);
while (!seen.has(last)) await sleep(5);
console.log(JSON.stringify([...seen].filter((specifier) => specifier.startsWith(prefix))));
