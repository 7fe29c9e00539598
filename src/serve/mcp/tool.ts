import { isObject, type JSONObject } from "../../internal/objects.ts";
import { mcpMetaKey, type OperationSpec, OperationType, validationError } from "../../operation/index.ts";
import { assertsNothing, copySubschemas, type SchemaObject } from "../../schema/index.ts";
import { toPublicSchema } from "../public-schema.ts";
import { toToolName } from "../tool-name.ts";
import type { ServedOperation } from "../visible.ts";

/** Generation of the protocol: `modern` is 2026-07-28, `legacy` covers the versions before it. */
export type ProtocolEra = "legacy" | "modern";

/** A tool as `tools/list` returns it. */
export interface ToolDescription {
  name: string;
  title?: string;
  description: string;
  inputSchema: SchemaObject & { type: "object" };
  outputSchema?: SchemaObject;
  annotations: { title?: string; readOnlyHint: boolean; idempotentHint?: boolean };
  _meta?: JSONObject;
}

/** A schema as it is published, and the form in which the original can be restored from the tool. */
interface PlacedSchema {
  schema: SchemaObject;
  /** A reference to a part of the tool if that is the original schema, and otherwise the original schema itself. */
  original: unknown;
}

const wrappedInput = "input";
const wrappedResult = "result";

/** An operation as a tool. Its descriptions are created when they are first read. */
export class ServedTool {
  readonly operation: ServedOperation;
  readonly name: string;
  readonly #descriptions = new Map<ProtocolEra, ToolDescription>();
  #output: SchemaObject | undefined | null = null;

  constructor(operation: ServedOperation) {
    this.operation = operation;
    this.name = toToolName(operation.id);
  }

  get isSubscription(): boolean {
    return this.operation.isSubscription;
  }

  /** Whether the arguments are `{ input }`, because the input is not an object and MCP accepts only objects. */
  get isInputWrapped(): boolean {
    return (this.operation.published.inputSchema as SchemaObject)["type"] !== "object";
  }

  /** Whether structured content is `{ result }`: clients of older versions accept only objects. */
  isOutputWrapped(era: ProtocolEra): boolean {
    return era === "legacy" && this.#declaredOutput !== undefined && this.#declaredOutput["type"] !== "object";
  }

  /** Converts the arguments of a call into the input of the operation. Throws `VALIDATION_ERROR`. */
  toInput(given: JSONObject | undefined): unknown {
    if (!this.isInputWrapped) return given ?? {};
    const unexpected = Object.keys(given ?? {}).filter((key) => key !== wrappedInput);
    if (unexpected.length === 0) return given?.[wrappedInput];
    const message = `is not expected; pass { "${wrappedInput}": … }`;
    throw validationError(
      `arguments of "${this.name}"`,
      unexpected.map((key) => ({ path: `/${key}`, message })),
    );
  }

  /** Returns the tool for clients of a generation of the protocol. */
  describe(era: ProtocolEra): ToolDescription {
    let description = this.#descriptions.get(era);
    if (description === undefined) {
      description = this.#create(era);
      this.#descriptions.set(era, description);
    }
    return description;
  }

  /** The published schema of the data, outside a wrapper. `undefined` if clients must not rely on one. */
  get #declaredOutput(): SchemaObject | undefined {
    if (this.#output === null) this.#output = toDeclaredOutput(this.operation.published.outputSchema);
    return this.#output;
  }

  #create(era: ProtocolEra): ToolDescription {
    const { published } = this.operation;
    const { title, type, idempotent } = published;
    const input = this.#placeInput(published.inputSchema);
    const output = this.isSubscription ? toValuesSchema(published.outputSchema) : this.#placeOutput(era);
    const description: ToolDescription = {
      name: this.name,
      ...(title !== undefined && { title }),
      description: describeOperation(this.operation.id, published),
      inputSchema: input.schema as ToolDescription["inputSchema"],
      ...(output !== undefined && { outputSchema: output.schema }),
      annotations: {
        ...(title !== undefined && { title }),
        readOnlyHint: type !== OperationType.MUTATION,
        ...(type === OperationType.MUTATION && { idempotentHint: idempotent === true }),
      },
    };
    const originals = { inputSchema: input.original, outputSchema: output?.original ?? published.outputSchema };
    description._meta = { [mcpMetaKey]: { operation: toOperationMeta(published, description, originals) } };
    return description;
  }

  #placeInput(original: unknown): PlacedSchema {
    if (!this.isInputWrapped) return place(original, "/inputSchema", withoutHeaders(toPublicSchema(original)));
    const location = `/properties/${wrappedInput}`;
    const schema = withoutHeaders(toPublicSchema(original, location));
    const placed = place(original, `/inputSchema${location}`, schema);
    const isOptional = assertsNothing(schema) || acceptsUndefined(original);
    return { ...placed, schema: wrap(wrappedInput, schema, { isOptional, isClosed: true }) };
  }

  #placeOutput(era: ProtocolEra): PlacedSchema | undefined {
    const { outputSchema } = this.operation.published;
    const declared = this.#declaredOutput;
    if (declared === undefined) return undefined;
    if (!this.isOutputWrapped(era)) return place(outputSchema, "/outputSchema", declared);
    const location = `/properties/${wrappedResult}`;
    const schema = toPublicSchema(outputSchema, location);
    return { ...place(outputSchema, `/outputSchema${location}`, schema), schema: wrap(wrappedResult, schema) };
  }
}

/** Wraps data for clients that accept only objects as structured content. */
export function wrapResult(data: unknown): JSONObject {
  return { [wrappedResult]: data };
}

function describeOperation(id: string, { description, title, type }: OperationSpec): string {
  const text = description || title || `The operation ${id}.`;
  return type === OperationType.SUBSCRIPTION ? `${text}\n\nReturns the values of the first seconds.` : text;
}

/** Returns the fields of the spec that the tool does not have. Access rules and `_meta` are never published. */
function toOperationMeta(spec: OperationSpec, tool: ToolDescription, originals: object): JSONObject {
  const { accessControl: _, _meta, title: __, description, ...fields } = spec;
  return { ...fields, ...(description !== tool.description && { description }), ...originals };
}

function place(original: unknown, pointer: string, schema: SchemaObject): PlacedSchema {
  const isSame = JSON.stringify(schema) === JSON.stringify(original);
  return { schema, original: isSame ? { $ref: `#${pointer}` } : original };
}

/** Returns the schema of a tool for data that is not an object. `$schema` belongs at the root. */
function wrap(property: string, inner: SchemaObject, { isOptional = false, isClosed = false } = {}): SchemaObject {
  const { $schema, ...schema } = inner;
  return {
    ...($schema !== undefined && { $schema }),
    type: "object",
    properties: { [property]: schema },
    ...(!isOptional && { required: [property] }),
    ...(isClosed && { additionalProperties: false }),
  };
}

function toValuesSchema(original: unknown): PlacedSchema {
  const { $schema, ...items } = toPublicSchema(original, "/properties/values/items");
  const schema: SchemaObject = {
    ...($schema !== undefined && { $schema }),
    type: "object",
    properties: {
      values: { type: "array", items },
      complete: {
        type: "boolean",
        description: "Whether the subscription has ended, so that there are no more values",
      },
    },
    required: ["values", "complete"],
  };
  return { schema, original };
}

function toDeclaredOutput(original: unknown): SchemaObject | undefined {
  const schema = toPublicSchema(original);
  // Clients refuse results without structured content, and schemas in a dialect that they do not know.
  const isUnsupported = typeof schema["$schema"] === "string" && schema["$schema"].includes("draft-04");
  return assertsNothing(schema) || acceptsUndefined(original) || isUnsupported ? undefined : schema;
}

function acceptsUndefined(schema: unknown): boolean {
  if (!isObject(schema)) return false;
  const { type, anyOf } = schema;
  return type === "undefined" || type === "void" || (Array.isArray(anyOf) && anyOf.some(acceptsUndefined));
}

/** Removes annotations of imported tools that ask clients for headers, which this server does not check. */
function withoutHeaders(schema: unknown): SchemaObject {
  if (!isObject(schema)) return schema as never;
  return copySubschemas(schema, withoutHeaders, (keyword) => keyword !== "x-mcp-header");
}
