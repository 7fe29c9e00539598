import { spawn } from "node:child_process";

/** Number of passed and failed checks of a step. */
export interface Count {
  passed: number;
  failed: number;
}

const countLine = /^(\d+) passed, (\d+) failed$/;

/**
 * Runs a shell command and forwards its output. A command that counts prints `N passed, N failed` on its own line,
 * which is read and not forwarded. Any other command counts as one check.
 */
export function runStep(command: string, print: (line: string) => void): Promise<Count> {
  return new Promise((resolve, reject) => {
    const env = process.stdout.isTTY ? { ...process.env, FORCE_COLOR: "1" } : process.env;
    const child = spawn(command, { shell: true, env, stdio: ["ignore", "pipe", "inherit"] });
    let counted: Count | undefined;
    let rest = "";
    const line = (text: string) => {
      const match = countLine.exec(text);
      if (match) counted = { passed: Number(match[1]), failed: Number(match[2]) };
      else print(text);
    };
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const text of lines) line(text);
    });
    child.on("error", reject);
    child.on("close", (exitCode) => {
      if (rest !== "") line(rest);
      const count = counted ?? { passed: exitCode === 0 ? 1 : 0, failed: 0 };
      // A step that exits with an error must never count as passed.
      resolve(exitCode === 0 || count.failed > 0 ? count : { ...count, failed: 1 });
    });
  });
}
