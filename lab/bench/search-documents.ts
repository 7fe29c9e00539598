import type { IOperationDefinition } from "../../src/index.ts";
import { numberedSchemas } from "./task-operation.ts";

/** Number of operations. */
export const count = 10_000;

/** What is searched for: a word in four of five descriptions, one of four operations, and what users typically write. */
export const queries = {
  common: "workspace",
  rare: "thermostat",
  typical: "create customer invoice",
};

/** The name of a query. */
export type QueryName = keyof typeof queries;

const namespaces = (
  "billing crm shop tickets calendar mail chat files docs wiki git builds deploys metrics alerts logs hosting domains " +
  "storage queues search maps weather payroll hiring travel expenses contracts surveys videos music news bank payments " +
  "shipping returns inventory suppliers fleet devices energy school clinic library events forms sheets slides tasks notes"
).split(" ");
const verbs = (
  "create get list update delete search archive restore export import copy move share approve reject assign close reopen " +
  "send cancel"
).split(" ");
const nouns = (
  "customer invoice order product ticket message meeting file page branch build release alert report domain bucket job " +
  "place forecast employee candidate trip receipt contract answer video playlist article account payment shipment refund " +
  "warehouse supplier vehicle device meter course patient book"
).split(" ");
const details = [
  "Results are sorted by date, newest first, and returned in pages of at most 100 items.",
  "The caller needs the permission to change it. Other members are notified by mail.",
  "Fails if it does not exist, or if another user has changed it since it was read.",
  "Optional fields that are missing keep their value. Dates are in UTC.",
  "Returns the identifier, the owner, the status, and when it was last changed.",
  "The change is written to the audit log and can be undone within 30 days.",
  "Use filters to select by status, owner, label or time.",
];

/** Creates operations as a company's services have them: the same verbs and nouns again and again. */
export function createOperations(): IOperationDefinition[] {
  return Array.from({ length: count }, (_, index) => {
    const namespace = namespaces[index % namespaces.length]!;
    const step = Math.floor(index / namespaces.length);
    const verb = verbs[step % verbs.length]!;
    const noun = nouns[(index * 7 + Math.floor(step / verbs.length)) % nouns.length]!;
    const parent = nouns[(index * 11 + 3) % nouns.length]!;
    const place = index % 5 === 0 ? "of the current user" : "in the workspace";
    const rarely = index % 2_500 === 17 ? " Also sets the thermostat." : "";
    const detail = `${details[index % details.length]} ${details[(index + 3) % details.length]}`;
    return {
      namespace,
      name: `${verb}${toTitle(parent)}${toTitle(noun)}`,
      title: `${toTitle(verb)} ${noun} of a ${parent}`,
      version: "1.0.0",
      type: "mutation",
      description: `${toTitle(verb)} one or several ${noun}s of a ${parent} ${place}. ${detail}${rarely}`,
      tags: [noun, index % 2 === 0 ? "write" : "read"],
      ...numberedSchemas(index),
      accessControl: { requiredScopes: [] },
      handler: async () => ({}),
    };
  });
}

function toTitle(word: string): string {
  return word[0]!.toUpperCase() + word.slice(1);
}
