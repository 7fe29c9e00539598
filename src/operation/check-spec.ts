import { extendPointer } from "../internal/json-pointer.ts";
import { hasGetter, isJSONObject, isObject, type JSONObject } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { type ValueProblem, validationError } from "./errors.ts";
import { namePattern, namespacePattern } from "./operation-id.ts";
import {
  type AccessControl,
  accessNames,
  copyAccess,
  type OperationSpec,
  pointerPattern,
  resourceTypePattern,
} from "./spec.ts";

type Test = (value: unknown) => boolean;

/**
 * A field, its requirement, which completes "`/path` …", the test of its value, and the rules of its parts or, for a list,
 * of each item. Without a test only its presence is checked, because sources create schemas when they are first read.
 */
type Rule = readonly [name: string, requirement: string, isValid?: Test, parts?: readonly Rule[]];

const isString = (value: unknown): value is string => typeof value === "string";
const isBoolean: Test = (value) => typeof value === "boolean";
const isStringList: Test = (value) => Array.isArray(value) && value.every(isString);
const isStatus: Test = (value) => Number.isInteger(value) && (value as number) >= 100 && (value as number) <= 599;
const matches = (pattern: RegExp) => (value: unknown) => typeof value === "string" && pattern.test(value);
const isOneOf = (values: readonly unknown[]) => (value: unknown) => values.includes(value);
const optional = (isValid: Test) => (value: unknown) => value === undefined || isValid(value);

const resourceParts = {
  resourceType: "must be a string without a colon, and is required together with resourceAction",
  resourceAction: "must be a string, and is required together with resourceType",
};

const accessRules: readonly Rule[] = [
  ["requiredScopes", "must be a list of strings; use [] to require none", isStringList],
  ["requiredScopesAny", "must be a list of strings; omit it to require none", optional(isStringList)],
  ["resourceType", resourceParts.resourceType, optional(matches(resourceTypePattern))],
  ["resourceAction", resourceParts.resourceAction, optional(isString)],
  ["resourceId", 'must be a JSON pointer into the input, such as "/id"', optional(matches(pointerPattern))],
  ["customAuth", "must be the name of a function in the registry's customAuth", optional(isString)],
];

const accessRule: Rule = [
  "accessControl",
  "must be an object; use { requiredScopes: [] } to allow every caller",
  isJSONObject,
  accessRules,
];

const errorRules: readonly Rule[] = [
  ["code", 'must be a string such as "TASK_NOT_FOUND"', (value) => isString(value) && value !== ""],
  ["description", "must be a string", optional(isString)],
  ["schema", "is missing; use Type.Unknown() when the details can be anything"],
  ["httpStatus", "must be a status from 100 to 599", optional(isStatus)],
];

const specRules: readonly Rule[] = [
  ["namespace", "must be 1 to 64 characters without dots or control characters", matches(namespacePattern)],
  ["name", "must be 1 to 256 characters without control characters", matches(namePattern)],
  ["version", 'must be a string such as "1.0.0"', isString],
  ["type", 'must be "query", "mutation" or "subscription"', isOneOf(["query", "mutation", "subscription"])],
  ["description", "must be a string that describes the operation", isString],
  ["inputSchema", "is missing; use Type.Object({}) for an operation without input"],
  ["outputSchema", "is missing; use Type.Unknown() when the output can be anything"],
  accessRule,
  ["title", "must be a string", optional(isString)],
  ["tags", "must be a list of strings", optional(isStringList)],
  ["idempotent", "must be true or false", optional(isBoolean)],
  ["outputPolicy", 'must be "cast", "check" or "strict"', optional(isOneOf(["cast", "check", "strict"]))],
  ["handler", "must be a function; omit it to register the handler later", optional((it) => typeof it === "function")],
];

/** Fields that are not read behind a getter, because sources create them when they are first read. */
const lazyRules: readonly Rule[] = [
  ["errorSchemas", "must be a list of { code, schema }", optional(Array.isArray), errorRules],
  ["_meta", "must be an object", optional(isJSONObject)],
];

/**
 * Throws `VALIDATION_ERROR` unless a value is a valid spec. The message names every invalid field and how to correct it.
 * Schemas are only checked for presence, and errors or meta behind a getter are not read.
 */
export function assertValidSpec(spec: unknown): asserts spec is OperationSpec {
  const problems = isObject(spec)
    ? findProblems(spec, specRules)
    : [{ path: "", message: "must be an object with namespace, name, version, type, inputSchema and outputSchema" }];
  if (problems.length > 0) throw validationError(`operation ${formatLabel(spec)}`, problems);
}

/**
 * A frozen copy of an access rule that was given as an option, without the parts that are `undefined`. Throws
 * `VALIDATION_ERROR` for an invalid one.
 */
export function toAccessControl(accessControl: unknown): AccessControl {
  const problems = findProblems({ accessControl }, [accessRule]);
  if (problems.length > 0) throw validationError("options", problems);
  return copyAccess(accessControl as AccessControl);
}

function findProblems(object: JSONObject, rules: readonly Rule[]): ValueProblem[] {
  const problems: ValueProblem[] = [];
  for (const rule of rules) checkField(problems, "", object, rule);
  for (const rule of lazyRules) if (!hasGetter(object, rule[0])) checkField(problems, "", object, rule);
  checkCombinations(problems, object["accessControl"]);
  return problems;
}

function checkField(problems: ValueProblem[], path: string, object: JSONObject, rule: Rule): void {
  const [name, requirement, isValid, parts] = rule;
  if (isValid === undefined) {
    if (!(name in object)) problems.push({ path: `${path}/${name}`, message: requirement });
    return;
  }
  const value = object[name];
  if (!isValid(value)) {
    const message = value === undefined ? `is missing and ${requirement}` : requirement;
    problems.push({ path: `${path}/${name}`, message });
  } else if (parts !== undefined && Array.isArray(value)) checkErrors(problems, `${path}/${name}`, value, parts);
  else if (parts !== undefined && isObject(value)) {
    for (const part of parts) checkField(problems, `${path}/${name}`, value, part);
  }
}

function checkErrors(problems: ValueProblem[], path: string, errors: readonly unknown[], rules: readonly Rule[]): void {
  const places = new Map<unknown, string>();
  for (const [index, error] of errors.entries()) {
    const place = `${path}/${index}`;
    if (!isJSONObject(error)) {
      problems.push({ path: place, message: "must be an object with code and schema" });
      continue;
    }
    for (const rule of rules) checkField(problems, place, error, rule);
    const { code } = error;
    const first = places.get(code);
    if (first === undefined) places.set(code, place);
    else if (isString(code)) {
      const message = `must be unique, but ${quote(code)} is also the code of ${first}`;
      problems.push({ path: `${place}/code`, message });
    }
  }
}

/** Adds violations of rules about the whole access rule. */
function checkCombinations(problems: ValueProblem[], access: unknown): void {
  if (!isObject(access)) return;
  // A rule with a misspelt field would allow more callers than intended.
  for (const name in access) {
    if (accessNames.includes(name)) continue;
    const message = `is not part of an access rule; use ${accessNames.join(", ")}`;
    problems.push({ path: extendPointer("/accessControl", name), message });
  }
  const { resourceType, resourceAction, resourceId } = access;
  if (resourceType === undefined && resourceAction === undefined && resourceId === undefined) return;
  for (const [name, message] of Object.entries(resourceParts)) {
    if (access[name] === undefined) problems.push({ path: `/accessControl/${name}`, message });
  }
}

/** Names the operation as precisely as an invalid spec allows. */
function formatLabel(spec: unknown): string {
  if (!isObject(spec)) return "definition";
  const [namespace, name] = [spec["namespace"], spec["name"]].map((part) => (typeof part === "string" ? part : "?"));
  return quote(`${namespace}.${name}`);
}
