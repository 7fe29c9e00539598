import { expect, test } from "vitest";
import { checkPositionals, parseArguments } from "./arguments.ts";
import { defineCommand } from "./command.ts";
import { loadCommand } from "./commands.ts";
import { splitCommand } from "./source-target.ts";

const options = {
  input: { type: "string", value: "JSON", description: "Input." },
  output: { type: "string", short: "o", value: "FILE", description: "Output." },
  raw: { type: "boolean", description: "Raw." },
} as const;

test("options and arguments may be mixed, and -- ends options", () => {
  const parsed = parseArguments(["a", "--raw", "--input=-", "-o", "x.txt", "b=1", "--", "--raw"], options);

  expect(parsed).toEqual({
    given: [
      ["raw", true],
      ["input", "-"],
      ["output", "x.txt"],
    ],
    positionals: ["a", "b=1", "--raw"],
    options: { raw: true, input: "-", output: "x.txt" },
  });
});

test("a value may begin with a dash", () => {
  expect(parseArguments(["--input", "-1"], options).options).toEqual({ input: "-1" });
});

test.each([
  [["--outptu", "x"], 'There is no option "--outptu". Did you mean "--output"?'],
  [["--zzzzzz"], 'There is no option "--zzzzzz". Run the command with --help for a list.'],
  [["-z"], 'There is no option "-z". Run the command with --help for a list.'],
  [["--__proto__"], 'There is no option "--__proto__". Run the command with --help for a list.'],
  [["--input"], "The option --input requires a value: --input JSON."],
  [["--raw=yes"], "The option --raw does not take a value."],
])("%j is refused", (args, message) => {
  expect(() => parseArguments(args, options)).toThrow(expect.objectContaining({ code: "USAGE", message }));
});

test("the number of arguments is checked", () => {
  const command = defineCommand({
    examples: [],
    arguments: "ID",
    options: {},
    run: async () => {},
  });

  expect(() => checkPositionals("describe", command, ["a"])).not.toThrow();
  expect(() => checkPositionals("describe", command, [])).toThrow(
    'An argument is missing: npx @alkdev/operations describe ID. Run "npx @alkdev/operations describe --help" for examples.',
  );
  expect(() => checkPositionals("describe", command, ["a", "b"])).toThrow(
    'The argument "b" is one too many. Run "npx @alkdev/operations describe --help" for examples.',
  );
});

test("an unknown command is never run as another one", async () => {
  await expect(loadCommand("lst")).rejects.toThrow('There is no command "lst". Did you mean "list"?');
  await expect(loadCommand("zzzzz")).rejects.toThrow(
    'There is no command "zzzzz". Run "npx @alkdev/operations --help" for a list.',
  );
});

test.each([
  ["npx -y server .", ["npx", "-y", "server", "."]],
  [`"C:\\\\Program Files\\\\node" 'a b' c\\ d "e\\"f" ''`, ["C:\\Program Files\\node", "a b", "c d", 'e"f', ""]],
  ["echo $(touch x) `y` ; z > q", ["echo", "$(touch", "x)", "`y`", ";", "z", ">", "q"]],
])("%s is split without a shell", (line, words) => {
  expect(splitCommand(line)).toEqual(words);
});

test("a quote that is not closed, and an empty command, are refused", () => {
  expect(() => splitCommand("  ")).toThrow("The option --mcp-command requires a program and its arguments.");
  expect(() => splitCommand("node 'a")).toThrow("The command of --mcp-command has a ' that is not closed.");
});
