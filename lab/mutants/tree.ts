import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";

const maxBuffer = 1024 ** 3;

/**
 * Copies the files of the repository `root` to `folder`, as they are in a commit or, without one, in the working tree with
 * its changes. The copy uses the installed packages of `root`.
 */
export function copyTree(root: string, folder: string, commit: string | undefined): void {
  mkdirSync(folder, { recursive: true });
  if (commit !== undefined) {
    const archive = execFileSync("git", ["archive", commit], { cwd: root, maxBuffer });
    execFileSync("tar", ["-x", "-C", folder], { input: archive });
  } else {
    for (const file of git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")) {
      if (file === "" || !existsSync(join(root, file))) continue;
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      cpSync(join(root, file), join(folder, file), { verbatimSymlinks: true });
    }
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
}

/** Returns the hash of a commit. Throws if there is no such commit. */
export function resolveCommit(root: string, commit: string): string {
  return git(root, "rev-parse", "--verify", "--quiet", `${commit}^{commit}`).trim();
}

function git(root: string, ...args: string[]): string {
  return execFileSync("git", args, { cwd: root, encoding: "utf8", maxBuffer });
}
