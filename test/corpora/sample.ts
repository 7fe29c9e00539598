import fc from "fast-check";

type Schema = Record<string, unknown>;

const formats: Record<string, string> = {
  "date-time": "2024-02-29T12:00:00Z",
  date: "2024-02-29",
  time: "12:00:00Z",
  email: "someone@example.com",
  hostname: "example.com",
  ipv4: "127.0.0.1",
  ipv6: "::1",
  uri: "https://example.com/a",
  uuid: "7b1d9f6e-3f63-4f0c-9d0e-5a1c6f0f8b11",
  duration: "P1D",
};

/** A small value that fits a self-contained schema in most cases: required properties only, shallow, no patterns. */
export function sample(schema: unknown, root: Schema = schema as Schema, depth = 0): unknown {
  if (typeof schema !== "object" || schema === null) return "any";
  const node = schema as Schema;
  if (typeof node["$ref"] === "string") return sample(definition(node["$ref"], root), root, depth);
  if ("const" in node) return node["const"];
  if (Array.isArray(node["enum"]) && node["enum"].length > 0) return node["enum"][0];
  const branches = (node["anyOf"] ?? node["oneOf"]) as unknown[] | undefined;
  const own = sampleOfType(node, root, depth);
  const parts = [own, ...((node["allOf"] as unknown[]) ?? []).map((part) => sample(part, root, depth + 1))];
  if (branches !== undefined && depth < 12) parts.push(sample(branches[0], root, depth + 1));
  const objects = parts.filter((part) => typeof part === "object" && part !== null && !Array.isArray(part));
  if (objects.length > 0) return Object.assign({}, ...objects);
  return parts.findLast((part) => part !== undefined) ?? "any";
}

function matching(pattern: string): string {
  return fc.sample(fc.stringMatching(new RegExp(pattern, "u")), { numRuns: 1, seed: 1 })[0]!;
}

function definition(reference: string, root: Schema): unknown {
  return (root["$defs"] as Schema)[reference.slice("#/$defs/".length)];
}

function sampleOfType(node: Schema, root: Schema, depth: number): unknown {
  const type = Array.isArray(node["type"]) ? node["type"][0] : node["type"];
  switch (type ?? (node["properties"] ? "object" : undefined)) {
    case "object": {
      const required = (node["required"] as string[] | undefined) ?? [];
      const properties = (node["properties"] ?? {}) as Schema;
      return Object.fromEntries(
        required.map((name) => [name, depth > 12 ? "deep" : sample(properties[name], root, depth + 1)]),
      );
    }
    case "array": {
      const count = Number(node["minItems"] ?? 1);
      return depth > 12 ? [] : Array.from({ length: count }, () => sample(node["items"], root, depth + 1));
    }
    case "string": {
      if (typeof node["pattern"] === "string") return matching(node["pattern"]);
      const text = formats[String(node["format"])] ?? "text";
      return text.padEnd(Number(node["minLength"] ?? 0), "x").slice(0, Number(node["maxLength"] ?? 10_000));
    }
    case "integer":
    case "number": {
      const above = node["exclusiveMinimum"] === undefined ? undefined : Number(node["exclusiveMinimum"]) + 1;
      return Number(node["minimum"] ?? above ?? Math.min(1, Number(node["maximum"] ?? 1)));
    }
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return undefined;
  }
}
