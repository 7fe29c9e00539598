// Runs a hub from the installed package, whose operations have names, descriptions and results that try to attack its console.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createHub } from "@alkdev/operations/hub";

const folder = process.argv[2];
const hashes = JSON.parse(process.argv[3] ?? "[]");
writeFileSync(
  join(folder, "shop.mjs"),
  `import { defineOperation, Type } from "@alkdev/operations";
const attack = '<img src=x onerror="document.title=1"><script>document.title=1</script>';
const rtl = String.fromCharCode(0x202e);
const save = defineOperation({ namespace: "shop", name: "save", type: "mutation", inputSchema: Type.Object({ item: Type.String() }), outputSchema: Type.Object({ id: Type.Integer() }), handler: () => ({ id: "7" }) });
export default [
  save,
  defineOperation({ namespace: "shop", name: "place", type: "mutation", title: attack, description: attack + " [link](javascript:alert(1)) ![x](http://example.com/x.png) **bold**" + rtl, tags: [attack],
    inputSchema: Type.Object({ item: Type.String({ minLength: 1, description: attack }), count: Type.Integer({ default: 1 }), note: Type.Optional(Type.String()) }),
    outputSchema: Type.Unknown(),
    errors: { SOLD_OUT: Type.Object({ item: Type.String() }) },
    handler: async ({ item }, context) => {
      if (item === "none") throw context.errors.SOLD_OUT({ item }, attack);
      const { id } = await context.call(save, { item });
      return { id, text: attack, rtl, rows: [{ a: 1, b: attack }, { a: 2, b: null }], token: "secret-value" };
    } }),
  defineOperation({ namespace: "shop", name: "count", type: "subscription", inputSchema: Type.Object({ to: Type.Integer({ default: 3 }) }), outputSchema: Type.Integer(), handler: async function* ({ to }) { for (let n = 1; n <= to; n++) yield n; } }),
];
`,
);
const identities = ["ada", "bob"].map((id, at) => ({
  hash: hashes[at],
  identity: { id, scopes: ["shop", "hub:read"] },
}));
const hub = await createHub(
  {
    sources: { shop: { modules: "." } },
    serve: { port: 0, mcp: false, websocket: false } /* they need optional packages */,
    ...(hashes.length > 0 && { access: { tokens: identities } }),
    history: { payloads: ["shop.*"] },
  },
  { folder },
);
console.log(JSON.stringify({ url: hub.url, link: hub.createConsoleLink() }));
process.stdin.on("data", () => console.log(JSON.stringify({ link: hub.createConsoleLink() })));
const stop = () => hub.close().then(() => process.exit(0));
process.on("SIGTERM", stop);
process.stdin.on("end", stop); // The tests have ended.
