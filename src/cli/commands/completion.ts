import { script } from "@bomb.sh/tab";
import { nearest } from "../../internal/nearest.ts";
import { quote } from "../../internal/text.ts";
import { defineCommand } from "../command.ts";
import { formatSuggestions, suggest } from "../completions.ts";
import { unknownName } from "../failures.ts";

const shells = ["bash", "zsh", "fish"] as const;

/** `operations completion SHELL` */
export const completion = defineCommand({
  examples: [
    "completion bash >> ~/.bashrc",
    "completion zsh >> ~/.zshrc",
    "completion fish > ~/.config/fish/completions/operations.fish",
  ],
  arguments: "bash|zsh|fish",
  minArguments: 1,
  maxArguments: 1,
  completes: shells,
  options: {},
  run: async ({ positionals: [name = ""], stdout }) => {
    const shell = shells.find((known) => known === name);
    if (shell === undefined) {
      const help = ` Use ${shells.join(", ")}.`;
      throw unknownName(`There is no completion for ${quote(name)}.`, nearest(name, shells), help);
    }
    await stdout.write(createScript(shell));
  },
});

/** `operations complete -- WORDS`, which the scripts call. It prints nothing but completions, whatever fails. */
export const complete = defineCommand({
  examples: ["complete -- call github."],
  arguments: "-- [WORD …]",
  maxArguments: Number.POSITIVE_INFINITY,
  options: {},
  run: async (context) => {
    const suggestions = await suggest(context.positionals, context).catch(() => []);
    await context.stdout.write(formatSuggestions(suggestions));
  },
});

function createScript(shell: (typeof shells)[number]): string {
  const script = capture(shell);
  return shell === "bash" ? adaptBash(script) : script;
}

/** The library only prints scripts. */
function capture(shell: string): string {
  const { log } = console;
  let printed = "";
  console.log = (text: string) => {
    printed += `${text}\n`;
  };
  try {
    script(shell, "operations", "operations");
  } finally {
    console.log = log;
  }
  return printed;
}

/**
 * Lets the script work without the package bash-completion, evaluates nothing that the user has typed, and can be loaded
 * twice.
 */
function adaptBash(script: string): string {
  const words = `    local line="\${COMP_LINE:0:COMP_POINT}"
    read -ra words <<< "$line"
    [[ "$line" == *[[:space:]] ]] && words+=("")
    cword=$(( \${#words[@]} - 1 ))
    cur="\${words[cword]}"
`;
  return script
    .replace(/^ *_get_comp_words_by_ref .*\n/m, () => words)
    .replace(/eval "\$requestComp"/, () => `operations complete -- "\${words[@]:1}"`)
    .replace(/^readonly /gm, "");
}
