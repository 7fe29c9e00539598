import { quote } from "../../internal/text.ts";
import type { Entry, ParameterEntry, Warn } from "./entry.ts";
import type { ParameterLocation } from "./plan.ts";
import { isCallerHeader } from "./wire/headers.ts";

/** A parameter and the property of the input that holds it. */
export interface Argument {
  parameter: ParameterEntry;
  argument: string;
}

const order: readonly ParameterLocation[] = ["path", "query", "querystring", "header", "cookie"];

/** Which parameters callers can give, and under which names: one that stands twice is qualified for the later ones. */
export function assignArguments(entry: Entry, warn: Warn): Argument[] {
  const places = templateNames(entry.path);
  const usable = [
    ...entry.parameters.filter((parameter) => isUsable(parameter, places, warn)),
    ...undeclared(entry, places, warn),
  ];
  const taken = new Set(entry.body === undefined ? [] : ["body"]);
  const sorted = usable.sort((one, other) => order.indexOf(one.location) - order.indexOf(other.location));
  return sorted.map((parameter) => {
    let argument = parameter.name;
    if (taken.has(argument)) argument = `${parameter.location}_${parameter.name}`;
    for (let count = 2; taken.has(argument); count++) argument = `${parameter.location}_${parameter.name}_${count}`;
    taken.add(argument);
    return { parameter, argument };
  });
}

function isUsable({ name, location, pointer }: ParameterEntry, places: Set<string>, warn: Warn): boolean {
  if (location === "header" && (!isCallerHeader(name) || name.toLowerCase() === "accept")) {
    warn(pointer, `the header ${quote(name)} is not for callers to set; the parameter is left out`);
    return false;
  }
  if (location === "path" && !places.has(name)) {
    warn(pointer, `the path has no place for ${quote(name)}; the parameter is left out`);
    return false;
  }
  return true;
}

/** Places in the path that no parameter is declared for. */
function undeclared(entry: Entry, places: Set<string>, warn: Warn): ParameterEntry[] {
  const declared = new Set(entry.parameters.filter(({ location }) => location === "path").map(({ name }) => name));
  const missing = [...places].filter((name) => !declared.has(name));
  return missing.map((name) => {
    warn(entry.pointer, `no parameter is declared for ${quote(name)} in the path; any text is taken`);
    return {
      name,
      location: "path",
      pointer: entry.pointer,
      required: true,
      style: "simple",
      explode: false,
      allowReserved: false,
      allowEmptyValue: false,
      schema: { value: { type: ["string", "number", "boolean"] }, pointer: entry.pointer, base: "" },
      deprecated: false,
    };
  });
}

/** Names in braces; a fragment after the path is never sent. */
function templateNames(path: string): Set<string> {
  return new Set(Array.from(path.replace(/#.*$/s, "").matchAll(/\{([^{}]+)\}/g), ([, name]) => name!));
}
