import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { root } from "../../scripts/subpaths.ts";

interface Job {
  strategy?: { matrix?: Record<string, string[]> };
  steps?: Array<{ run?: string }>;
}

interface IssueForm {
  name: string;
  description: string;
  body: Array<{ type: string; id?: string; attributes: { label?: string } }>;
}

const folder = join(root, ".github/workflows");
const workflows: Array<{ name: string; jobs: Record<string, Job> }> = readdirSync(folder).map((file) => ({
  ...parse(readFileSync(join(folder, file), "utf8")),
  name: file,
}));
const { scripts }: { scripts: Record<string, string> } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** The commands of a job, once for each value of a matrix that they contain. */
function commandsOf({ strategy, steps = [] }: Job): string[] {
  const texts = steps.flatMap(({ run }) => run?.trim().split("\n") ?? []);
  return Object.entries(strategy?.matrix ?? {}).reduce(
    (commands, [name, values]) =>
      commands.flatMap((command) => {
        const placeholder = `\${{ matrix.${name} }}`;
        return command.includes(placeholder) ? values.map((value) => command.replace(placeholder, value)) : [command];
      }),
    texts,
  );
}

/** Returns why a command does not run in a clone of the repository. */
function whyNotLocal(command: string): string | undefined {
  if (command.includes("${{")) return "has a value that only GitHub knows; pass it as an environment variable";
  if (/^npm (ci|test|publish)( |$)/.test(command)) return undefined;
  const script = /^npm run (\S+)( -- .*)?$/.exec(command)?.[1];
  const file = /^npx (?:tsx|vitest run --config) (\S+)$/.exec(command)?.[1];
  if (file !== undefined) return existsSync(join(root, file)) ? undefined : `names a file that does not exist: ${file}`;
  if (script === undefined) return "is not a command of npm";
  return script in scripts ? undefined : `is a script that package.json lacks: ${script}`;
}

test("actionlint accepts every workflow", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [join(root, "scripts/lint-workflows.mjs")]);

  expect(stdout.trim()).toBe(`${workflows.length} passed, 0 failed`);
});

test("every step is a command that also runs in a clone", () => {
  const commands = workflows.flatMap(({ name, jobs }) =>
    Object.entries(jobs).flatMap(([job, content]) => commandsOf(content).map((command) => ({ name, job, command }))),
  );
  const problems = commands.flatMap(({ name, job, command }) => {
    const reason = whyNotLocal(command);
    return reason === undefined ? [] : [`${name}, ${job}: "${command}" ${reason}`];
  });

  expect(problems).toEqual([]);
  expect(commands.map(({ command }) => command)).toEqual(
    expect.arrayContaining(["npm test", "npm run lab -- soak", "npm run lab -- chaos --minutes 15"]),
  );
});

test("every issue form has a description and questions with different ids", () => {
  const forms = readdirSync(join(root, ".github/ISSUE_TEMPLATE"))
    .filter((file) => file !== "config.yml")
    .map((file): IssueForm => parse(readFileSync(join(root, ".github/ISSUE_TEMPLATE", file), "utf8")));

  for (const { name, description, body } of forms) {
    const questions = body.filter(({ type }) => type !== "markdown");
    expect([name, description]).toEqual([expect.any(String), expect.any(String)]);
    expect(questions.every(({ type }) => /^(textarea|input|dropdown|checkboxes)$/.test(type))).toBe(true);
    expect(questions.every(({ attributes }) => typeof attributes.label === "string")).toBe(true);
    expect(new Set(questions.map(({ id }) => id)).size).toBe(questions.length);
  }
  expect(forms.length).toBeGreaterThan(1);
});
