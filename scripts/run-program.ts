import { execFile } from "node:child_process";
import { root } from "./subpaths.ts";

/** How a program ended. `exitCode` is `undefined` when it was stopped after the time limit. */
export interface ProgramResult {
  exitCode: number | undefined;
  stdout: string;
  stderr: string;
}

/** Runs one TypeScript program on the sources, as `npx tsx <path>` would, without colours. Waits at most five minutes. */
export function runProgram(path: string, args: readonly string[] = []): Promise<ProgramResult> {
  const env = { ...process.env, NO_COLOR: "1", FORCE_COLOR: undefined };
  return new Promise((resolve) => {
    const options = { cwd: root, env, timeout: 300_000, maxBuffer: 16 * 1024 * 1024 };
    execFile(process.execPath, ["--import", "tsx", path, ...args], options, (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : typeof error.code === "number" ? error.code : undefined;
      resolve({ exitCode, stdout, stderr });
    });
  });
}
