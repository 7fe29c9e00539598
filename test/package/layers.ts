/** What the sources of one layer may import beside themselves. */
export interface Layer {
  /** Folders, entered through their `index.ts`, and single files, such as the `inside.ts` of a folder. */
  ours: string[];
  /** Third-party packages; a package stays in the folders that need it. */
  packages: string[];
}

/** What every source may import. */
const sourceLayers = [
  "internal",
  "operation",
  "operation/inside.ts",
  "schema",
  "from/source.ts",
  "from/report.ts",
  "from/pins.ts",
];

/** The layers of `src/`, each of which may use those named in its row. `from/*` stands for every folder in `from/`, `transport/*` likewise. */
export const layers: Record<string, Layer> = {
  internal: { ours: [], packages: ["@logtape/logtape"] },
  operation: { ours: ["internal"], packages: ["typebox"] },
  schema: {
    ours: ["internal", "operation", "operation/inside.ts", "schema/instances.ts", "schema/keywords.ts"],
    packages: ["typebox", "re2js"],
  },
  // Without TypeBox, for what also runs in clients.
  "schema/instances.ts": { ours: ["internal"], packages: [] },
  // What a schema describes, also in browsers: without TypeBox.
  "schema/keywords.ts": { ours: ["internal"], packages: [] },
  "schema/model.ts": { ours: ["internal", "schema/keywords.ts"], packages: [] },
  contract: { ours: ["internal", "schema/model.ts"], packages: [] },
  "from/source.ts": { ours: ["operation"], packages: [] },
  "from/report.ts": { ours: ["internal", "from/source.ts"], packages: [] },
  "from/read-bounded.ts": { ours: [], packages: [] },
  "from/pins.ts": { ours: ["internal", "operation", "operation/inside.ts"], packages: [] },
  registry: {
    ours: ["internal", "operation", "operation/inside.ts", "schema", "from/source.ts", "from/report.ts"],
    packages: ["typebox", "minisearch"],
  },
  middleware: { ours: ["internal", "operation", "operation/inside.ts", "registry"], packages: [] },
  "from/*": { ours: sourceLayers, packages: ["typebox"] },
  "from/mcp": {
    ours: [
      ...sourceLayers,
      "transport/line-reader.ts",
      "transport/mcp-form.ts",
      "transport/network-error.ts",
      "transport/unsendable.ts",
    ],
    packages: ["typebox", "@modelcontextprotocol/client"],
  },
  "from/openapi": {
    ours: [
      ...sourceLayers,
      "from/read-bounded.ts",
      "middleware",
      "transport/http-form.ts",
      "transport/network-error.ts",
      "transport/unsendable.ts",
      "transport/http-body.ts",
      "transport/json-depth.ts",
    ],
    packages: ["typebox", "yaml", "eventsource-parser"],
  },
  "transport/shape.ts": { ours: ["internal"], packages: [] },
  "transport/frames.ts": { ours: ["operation", "operation/inside.ts", "transport/shape.ts"], packages: [] },
  "transport/linked-set.ts": { ours: [], packages: [] },
  "transport/transport.ts": {
    ours: ["operation", "operation/inside.ts", "transport/frames.ts", "transport/linked-set.ts"],
    packages: [],
  },
  "transport/http-form.ts": { ours: ["internal", "operation", "transport/json-text.ts"], packages: [] },
  "transport/json-text.ts": {
    ours: ["internal", "operation", "transport/is-json.ts", "transport/unsendable.ts"],
    packages: [],
  },
  "transport/mcp-form.ts": { ours: ["internal", "operation"], packages: [] },
  "transport/line-reader.ts": { ours: [], packages: [] },
  "transport/http-body.ts": { ours: ["internal"], packages: [] },
  "transport/json-depth.ts": { ours: [], packages: [] },
  "transport/network-error.ts": { ours: [], packages: [] },
  "transport/turnover-map.ts": { ours: [], packages: [] },
  "transport/is-json.ts": { ours: ["internal"], packages: [] },
  "transport/unsendable.ts": { ours: ["internal", "schema/instances.ts", "transport/is-json.ts"], packages: [] },
  "transport/index.ts": { ours: ["transport/transport.ts", "transport/codec"], packages: [] },
  "transport/codec": {
    ours: [
      "internal",
      "schema/instances.ts",
      "operation",
      "operation/inside.ts",
      "transport/frames.ts",
      "transport/json-depth.ts",
    ],
    packages: [],
  },
  "transport/peer": {
    ours: [
      "internal",
      "operation",
      "operation/inside.ts",
      "transport/wire.ts",
      "transport/transport.ts",
      "transport/turnover-map.ts",
      "transport/codec",
    ],
    packages: [],
  },
  "transport/*": { ours: ["internal", "operation", "operation/inside.ts", "transport/transport.ts"], packages: [] },
  "transport/in-process": {
    ours: [
      "internal",
      "operation",
      "operation/inside.ts",
      "transport/linked-set.ts",
      "transport/transport.ts",
      "transport/turnover-map.ts",
    ],
    packages: [],
  },
  "transport/wire.ts": { ours: ["operation", "transport/codec", "transport/frames.ts"], packages: [] },
  "transport/bus": {
    ours: [
      "internal",
      "operation",
      "operation/inside.ts",
      "transport/wire.ts",
      "transport/frames.ts",
      "transport/transport.ts",
      "transport/peer",
      "transport/codec",
    ],
    packages: [],
  },
  "transport/nats": {
    ours: ["internal", "operation", "operation/inside.ts", "transport/transport.ts", "transport/peer", "transport/bus"],
    packages: ["@nats-io/transport-node"],
  },
  "transport/redis": {
    ours: ["internal", "operation", "operation/inside.ts", "transport/transport.ts", "transport/peer", "transport/bus"],
    packages: ["@redis/client"],
  },
  "transport/worker": {
    ours: ["internal", "operation", "operation/inside.ts", "transport/transport.ts", "transport/peer"],
    packages: [],
  },
  "transport/websocket": {
    ours: [
      "internal",
      "operation",
      "operation/inside.ts",
      "transport/transport.ts",
      "transport/peer",
      "registry",
      "call",
      "call/inside.ts",
      "call/fair-share.ts",
      "serve",
    ],
    packages: ["ws"],
  },
  "call/deadline.ts": { ours: [], packages: [] },
  "call/fair-share.ts": { ours: [], packages: [] },
  "call/rough-size.ts": { ours: [], packages: [] },
  "call/outgoing": {
    ours: [
      "internal",
      "operation",
      "operation/inside.ts",
      "call/deadline.ts",
      "call/rough-size.ts",
      "transport/transport.ts",
      "transport/linked-set.ts",
    ],
    packages: [],
  },
  call: {
    ours: [
      "internal",
      "operation",
      "operation/inside.ts",
      "registry",
      "registry/inside.ts",
      "call/outgoing",
      "call/fair-share.ts",
      "call/rough-size.ts",
      "from/source.ts",
      "from/report.ts",
      "transport/shape.ts",
      "transport/frames.ts",
      "transport/linked-set.ts",
      "transport/transport.ts",
      "transport/in-process",
    ],
    packages: ["typebox"],
  },
  client: {
    ours: [
      "internal",
      "operation",
      "operation/inside.ts",
      "call/deadline.ts",
      "call/outgoing",
      "transport/transport.ts",
      "transport/websocket",
      "transport/websocket/web-socket-client.ts", // a client that only calls, without the types of servers
      "transport/http-form.ts",
      "transport/json-text.ts",
      "transport/network-error.ts",
      "transport/http-body.ts",
      "transport/json-depth.ts",
      "transport/is-json.ts",
    ],
    packages: ["eventsource-parser"],
  },
  jwt: {
    ours: ["internal", "operation", "operation/inside.ts", "transport/transport.ts", "transport/http-body.ts"],
    packages: ["jose"],
  },
  "serve/authenticator.ts": { ours: ["operation", "from/source.ts"], packages: [] },
  serve: {
    ours: [
      "internal",
      "operation",
      "operation/inside.ts",
      "schema",
      "registry",
      "registry/inside.ts",
      "call",
      "call/inside.ts",
      "call/fair-share.ts",
      "from/source.ts",
      "from/report.ts",
      "serve/authenticator.ts",
      "transport/http-form.ts",
      "transport/http-body.ts",
      "transport/json-depth.ts",
    ],
    packages: [],
  },
  "serve/http": {
    ours: [
      "internal",
      "operation",
      "operation/inside.ts",
      "schema",
      "registry",
      "registry/inside.ts",
      "call",
      "from/source.ts",
      "from/report.ts",
      "serve/authenticator.ts",
      "serve",
      "transport/http-form.ts",
    ],
    packages: ["typebox"],
  },
  "serve/mcp": {
    ours: [
      "internal",
      "operation",
      "operation/inside.ts",
      "schema",
      "registry",
      "registry/inside.ts",
      "call/fair-share.ts",
      "call/rough-size.ts",
      "from/source.ts",
      "from/report.ts",
      "serve/authenticator.ts",
      "serve",
      "transport/http-form.ts",
      "transport/mcp-form.ts",
    ],
    packages: ["typebox", "@modelcontextprotocol/server"],
  },
  auth: {
    ours: ["internal", "operation", "operation/inside.ts", "jwt", "from/source.ts", "serve/authenticator.ts"],
    packages: [],
  },
  node: {
    ours: [
      "internal",
      "operation",
      "operation/inside.ts",
      "schema",
      "registry",
      "call/fair-share.ts",
      "from/source.ts",
      "from/report.ts",
      "from/*",
      "serve",
    ],
    packages: ["chokidar", "jiti"],
  },
  console: {
    ours: ["internal", "operation", "client", "contract", "hub", "hub/inside.ts"],
    packages: ["preact", "@preact/signals", "marked"],
  },
  hub: {
    ours: [
      "internal",
      "operation",
      "operation/inside.ts",
      "schema",
      "registry",
      "registry/inside.ts",
      "from/source.ts",
      "from/read-bounded.ts",
      "from/*",
      "transport/transport.ts",
      "transport/*",
      "call",
      "call/inside.ts",
      "call/rough-size.ts",
      "jwt",
      "node",
      "auth",
      "client",
      "middleware",
      "serve",
      "serve/authenticator.ts",
      "serve/http",
      "serve/mcp",
      "serve/mcp/inside.ts",
      "serve/tool-name.ts",
      "serve/cross-origin.ts",
      "serve/exchange.ts",
      "serve/gate.ts",
      "serve/refusals.ts",
      "serve/server.ts",
      "transport/json-depth.ts",
    ],
    packages: ["typebox", "yaml", "jsonc-parser", "smol-toml", "node-sqlite3-wasm"],
  },
  cli: {
    ours: [
      "internal",
      "operation",
      "operation/inside.ts",
      "contract",
      "schema",
      "schema/model.ts",
      "registry",
      "registry/inside.ts",
      "from/source.ts",
      "from/read-bounded.ts",
      "from/*",
      "auth",
      "call/deadline.ts",
      "client",
      "client/over-http.ts", // calls of a running hub load nothing else of these two folders, to start fast
      "node",
      "serve",
      "serve/http",
      "serve/mcp",
      "hub",
      "hub/state-folder.ts",
      "hub/config-load.ts", // what trust reads, which is not public
    ],
    packages: ["picocolors", "jq-wasm"],
  },
  "index.ts": {
    ours: [
      "operation",
      "schema",
      "registry",
      "from/source.ts",
      "from/*",
      "transport/transport.ts",
      "transport/*",
      "call",
    ],
    packages: ["typebox"],
  },
};

/** Packages whose types belong to our public types: every layer above `internal` may import their types. */
export const typePackages = ["typebox", "@standard-schema/spec"];

/** Layers that may import Node's own modules. Everything else also runs in a browser. */
export const nodeLayers = ["auth", "cli", "hub", "node", "transport/nats", "transport/redis"];

/** Layers that load Node's own modules with `import()`, in the functions that need them, and run without them too. */
export const lazyNodeLayers = ["from/mcp", "serve/mcp"];

/** Optional peers, which are loaded with `import()` when they are used. */
export const lazyPackages = [
  "@modelcontextprotocol/client",
  "@modelcontextprotocol/server",
  "@nats-io/transport-node",
  "@redis/client",
  "jose",
  "jq-wasm",
  "node-sqlite3-wasm",
  "ws",
];

/** Layers that load a user's own modules, whose paths only show at run time. */
export const moduleLoaders = ["node", "from/modules"];

/**
 * Folders of unrelated small files, which are imported one by one. Every other folder is entered through its `index.ts`,
 * which has the public names, or through its `inside.ts`, which has these and what the rest of this package needs.
 */
export const openFolders = ["internal", "serve"];

/** Layers whose import of a contract is for its types only. */
export const typeOnly: Record<string, string[]> = {
  registry: ["from/source.ts"],
  middleware: ["registry"],
  console: ["hub"],
};
