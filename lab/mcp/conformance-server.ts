/** The server of `lab/mcp/conformance.ts`: operations with the names and results that the suite expects. */
import {
  CallError,
  createRegistry,
  defineOperation,
  type MCPContentBlock,
  mcpEnvelope,
  type OperationRegistry,
  Type,
} from "@alkdev/operations";
import { type Listener, listen } from "@alkdev/operations/node";
import { serveMCP } from "@alkdev/operations/serve-mcp";
import { getLogger } from "@logtape/logtape";

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const silence = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA==";

const blocks = {
  simple_text: [{ type: "text", text: "This is a simple text response for testing." }],
  image_content: [{ type: "image", data: pixel, mimeType: "image/png" }],
  audio_content: [{ type: "audio", data: silence, mimeType: "audio/wav" }],
  embedded_resource: [
    {
      type: "resource",
      resource: {
        uri: "test://embedded-resource",
        mimeType: "text/plain",
        text: "This is an embedded resource content.",
      },
    },
  ],
  multiple_content_types: [
    { type: "text", text: "Multiple content types test:" },
    { type: "image", data: pixel, mimeType: "image/png" },
    {
      type: "resource",
      resource: {
        uri: "test://mixed-content-resource",
        mimeType: "application/json",
        text: '{"test":"data","value":123}',
      },
    },
  ],
} satisfies Record<string, MCPContentBlock[]>;

const plain = { type: "query", inputSchema: Type.Object({}), outputSchema: Type.Unknown() } as const;

const withBlocks = Object.entries(blocks).map(([name, content]) =>
  defineOperation({
    ...plain,
    namespace: "test",
    name,
    handler: () => mcpEnvelope(content, { isError: false, content }),
  }),
);

const fail = defineOperation({
  ...plain,
  namespace: "test",
  name: "error_handling",
  handler: () => {
    throw new Error("This tool intentionally returns an error for testing");
  },
});

const progress = defineOperation({
  ...plain,
  namespace: "test",
  name: "tool_with_progress",
  handler: async (_input, context) => {
    for (const step of [0, 50, 100]) {
      context.progress({ progress: step, total: 100, message: `Completed step ${step} of 100` });
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return "done";
  },
});

/** Logs of the program do not reach clients. */
const logging = defineOperation({
  ...plain,
  namespace: "test",
  name: "logging_tool",
  handler: () => getLogger("conformance").warn("This message is for the operator."),
});

/** An operation cannot ask its caller for input while it is running. */
const elicitation = defineOperation({
  ...plain,
  namespace: "test",
  name: "streaming_elicitation",
  handler: (_input, context) => {
    context.progress({ progress: 1, message: "The response is now a stream." });
    throw new CallError("INPUT_REQUIRED", "The operation requires input from the user.");
  },
});

const schemaTool = defineOperation({
  ...plain,
  namespace: "json",
  name: "schema_2020_12_tool",
  description: "Tool with JSON Schema 2020-12 features",
  inputSchema: Type.Unsafe<object>({
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    $defs: {
      address: {
        $anchor: "addressDef",
        type: "object",
        properties: { street: { type: "string" }, city: { type: "string" } },
      },
    },
    properties: {
      name: { type: "string" },
      address: { $ref: "#/$defs/address" },
      contactMethod: { type: "string", enum: ["phone", "email"] },
      phone: { type: "string" },
      email: { type: "string" },
    },
    allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
    if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
    then: { required: ["phone"] },
    else: { required: ["email"] },
    additionalProperties: false,
  }),
  handler: () => "ok",
});

/** Creates the registry with all operations. */
export function createConformanceRegistry(): OperationRegistry {
  const registry = createRegistry({ operations: [...withBlocks, fail, progress, logging, elicitation, schemaTool] });
  registry.register(
    defineOperation({
      ...plain,
      namespace: "test",
      name: "trigger_tool_change",
      type: "mutation",
      handler: () => registry.replace(fail),
    }),
  );
  return registry;
}

/** Starts the server, at the path `/mcp`. */
export function startConformanceServer(): Promise<Listener> {
  const server = serveMCP(createConformanceRegistry(), { authenticate: "none", name: "conformance" });
  return listen({ "/mcp": server }, { host: "localhost", closeTimeout: 0 });
}
