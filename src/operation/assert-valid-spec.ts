import { isPointer } from "../internal/json-pointer.ts";
import { quote } from "../internal/text.ts";
import { type ValueProblem, validationError } from "./errors.ts";
import { namePattern, namespacePattern } from "./operation-id.ts";
import type { OperationSpec } from "./spec.ts";

type Loose = Record<string, unknown>;

/**
 * Throws `VALIDATION_ERROR` unless a value has everything an operation needs, naming every field that is wrong and
 * what to do. Asks only whether the schemas are there, and reads no errors or meta behind a getter: sources make them
 * when they are first read.
 */
export function assertValidSpec(spec: unknown): asserts spec is OperationSpec {
  const problems = specProblems(spec);
  if (problems.length > 0) throw validationError(`operation ${label(spec)}`, problems);
}

function specProblems(spec: unknown): ValueProblem[] {
  const problems: ValueProblem[] = [];
  if (!isObject(spec)) {
    problems.push({ path: "", message: "must be an object with namespace, name, version, type and so on" });
    return problems;
  }
  const expect = (valid: boolean, path: string, message: string) => {
    if (!valid) problems.push({ path, message });
  };

  expect(
    matches(spec["namespace"], namespacePattern),
    "/namespace",
    "must be 1 to 64 characters without dot or control character",
  );
  expect(matches(spec["name"], namePattern), "/name", "must be 1 to 256 characters without control character");
  expect(typeof spec["version"] === "string", "/version", 'must be a string such as "1.0.0"');
  expect(isType(spec["type"]), "/type", 'must be "query", "mutation" or "subscription"');
  expect(typeof spec["description"] === "string", "/description", "must be a string that says what the operation does");
  expect(isOptional(spec["title"], "string"), "/title", "must be a string");
  expect(spec["tags"] === undefined || isStrings(spec["tags"]), "/tags", "must be a list of strings");
  expect("inputSchema" in spec, "/inputSchema", "is missing; use Type.Object({}) for an operation without input");
  expect("outputSchema" in spec, "/outputSchema", "is missing; use Type.Unknown() when the output can be anything");
  expect(isOptional(spec["idempotent"], "boolean"), "/idempotent", "must be true or false");
  expect(isPolicy(spec["outputPolicy"]), "/outputPolicy", 'must be "cast", "check" or "strict"');
  const meta = madeAlready(spec, "_meta");
  expect(meta === undefined || isObject(meta), "/_meta", "must be an object");
  expect(
    spec["handler"] === undefined || typeof spec["handler"] === "function",
    "/handler",
    "must be a function; leave it out to register it later",
  );
  checkAccessControl(spec["accessControl"], expect);
  const errors = madeAlready(spec, "errorSchemas");
  if (errors !== undefined) checkErrors(errors, expect);
  return problems;
}

type Expect = (valid: boolean, path: string, message: string) => void;

function checkAccessControl(access: unknown, expect: Expect): void {
  if (!isObject(access)) {
    expect(false, "/accessControl", "must be an object; { requiredScopes: [] } lets everybody call");
    return;
  }
  const at = "/accessControl";
  const { requiredScopes, requiredScopesAny, resourceType, resourceAction, resourceId, customAuth } = access;
  expect(isStrings(requiredScopes), `${at}/requiredScopes`, "must be a list of strings; [] demands nothing");
  expect(
    requiredScopesAny === undefined || isStrings(requiredScopesAny),
    `${at}/requiredScopesAny`,
    "must be a list of strings; leave it out to demand nothing",
  );
  expect(
    isOptional(customAuth, "string"),
    `${at}/customAuth`,
    "must be the name of a function in the registry's customAuth",
  );
  if (resourceType === undefined && resourceAction === undefined && resourceId === undefined) return;
  expect(
    typeof resourceType === "string" && resourceType !== "" && !resourceType.includes(":"),
    `${at}/resourceType`,
    "must be a string without colon; it goes together with resourceAction",
  );
  expect(
    typeof resourceAction === "string",
    `${at}/resourceAction`,
    "must be a string; it goes together with resourceType",
  );
  expect(
    resourceId === undefined || (typeof resourceId === "string" && isPointer(resourceId)),
    `${at}/resourceId`,
    'must be a JSON pointer into the input, such as "/id"',
  );
}

function checkErrors(errors: unknown, expect: Expect): void {
  if (!Array.isArray(errors)) {
    expect(false, "/errorSchemas", "must be a list of { code, schema }");
    return;
  }
  for (const [index, error] of errors.entries()) {
    const at = `/errorSchemas/${index}`;
    if (!isObject(error)) {
      expect(false, at, "must be an object with code and schema");
      continue;
    }
    const { code, description, httpStatus } = error;
    expect(typeof code === "string" && code !== "", `${at}/code`, 'must be a string such as "TASK_NOT_FOUND"');
    expect("schema" in error, `${at}/schema`, "is missing; use Type.Unknown() when the details can be anything");
    expect(isOptional(description, "string"), `${at}/description`, "must be a string");
    expect(isOptionalStatus(httpStatus), `${at}/httpStatus`, "must be a status from 100 to 599");
  }
}

/** A property that can be read without making it. */
function madeAlready(spec: Loose, key: string): unknown {
  return Object.getOwnPropertyDescriptor(spec, key)?.get === undefined ? spec[key] : undefined;
}

function isObject(value: unknown): value is Loose {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isOptional(value: unknown, type: "string" | "boolean"): boolean {
  return value === undefined || typeof value === type;
}

function isStrings(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function isOptionalStatus(value: unknown): boolean {
  return value === undefined || (Number.isInteger(value) && (value as number) >= 100 && (value as number) <= 599);
}

function isType(value: unknown): boolean {
  return value === "query" || value === "mutation" || value === "subscription";
}

function isPolicy(value: unknown): boolean {
  return value === undefined || value === "cast" || value === "check" || value === "strict";
}

function matches(value: unknown, pattern: RegExp): boolean {
  return typeof value === "string" && pattern.test(value);
}

/** Names the operation as well as a broken spec allows. */
function label(spec: unknown): string {
  if (!isObject(spec)) return "definition";
  const part = (value: unknown) => (typeof value === "string" ? value : "?");
  return quote(`${part(spec["namespace"])}.${part(spec["name"])}`);
}
