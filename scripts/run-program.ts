import { execFile } from "node:child_process";
import { root } from "./subpaths.ts";

/** How a program ended. `exitCode` is `undefined` when it was stopped after the time limit. */
export interface ProgramResult {
  exitCode: number | undefined;
  stdout: string;
  stderr: string;
}

/** The time limit of a program in ms. Examples take a few seconds. */
const timeoutMs = 120_000;

/** Runs a program as `npx tsx <path>` or `node <path>.mjs` does in the folder `cwd`, without colours. In our root it uses the sources. */
export function runProgram(
  path: string,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = process.env,
  cwd = root,
): Promise<ProgramResult> {
  const options = {
    cwd,
    env: { ...env, NO_COLOR: "1", FORCE_COLOR: undefined },
    timeout: timeoutMs,
    maxBuffer: 16 * 1024 * 1024,
  };
  const loader = path.endsWith(".ts") ? ["--import", "tsx"] : [];
  return new Promise((resolve) => {
    execFile(process.execPath, [...loader, path, ...args], options, (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : typeof error.code === "number" ? error.code : undefined;
      resolve({ exitCode, stdout, stderr });
    });
  });
}
