import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { root } from "../../scripts/subpaths.ts";
import { copyTree } from "../mutants/tree.ts";

/** The commit whose behaviour is the reference: the last one before the calls of the registry were rewritten. */
export const referenceCommit = "3dd07a81e03f7cccc8c076247c4471aaaf13d9dd";

/** Shared by all clones of the repository, like the programs of `ensure-program.ts`. */
const cache = join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "alkdev-operations", "compare");

/**
 * Returns a folder in which the reference is installed. Builds it from its commit the first time, with the packages of
 * its lock file; their folder of about 750 MB stays in the cache.
 */
export function prepareReference(print: (line: string) => void, commit = referenceCommit): string {
  const home = join(cache, commit);
  const installed = join(home, "installed");
  if (existsSync(installed)) return installed;
  print(`Building the reference from ${commit.slice(0, 7)} in ${home}`);
  const tree = join(home, "tree");
  rmSync(tree, { recursive: true, force: true });
  mkdirSync(tree, { recursive: true });
  const archive = execFileSync("git", ["archive", commit], { cwd: root, maxBuffer: 1024 ** 3 });
  execFileSync("tar", ["-x", "-C", tree], { input: archive });
  run("npm", ["ci", "--no-audit", "--no-fund", "--silent"], tree);
  install(pack(tree), installed, tree);
  return installed;
}

/** Returns a folder in which the working tree is installed. Builds it unless the same files were built last. */
export function prepareCurrent(print: (line: string) => void): string {
  const home = join(cache, "current", hashOf(root));
  const installed = join(home, "installed");
  if (existsSync(installed)) return installed;
  print("Building the working tree");
  const tree = mkdtempSync(join(tmpdir(), "compare-tree-")); // Two runs may build at the same time.
  try {
    copyTree(root, tree, undefined);
    install(pack(tree), installed, root);
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
  removeOlder(dirname(home));
  return installed;
}

/** Builds and packs a tree that has its packages. Returns the path of the tarball. */
function pack(tree: string): string {
  run("npm", ["run", "--silent", "build"], tree);
  const packed = run("npm", ["pack", "--json", "--ignore-scripts"], tree);
  const [{ filename }] = JSON.parse(packed);
  return join(tree, filename);
}

/** Unpacks a tarball and links its dependencies and optional peers, in the versions that `packages` has installed. */
function install(tarball: string, folder: string, packages: string): void {
  const draft = `${folder}.${process.pid}`;
  const own = join(draft, "node_modules/@alkdev/operations");
  mkdirSync(own, { recursive: true });
  execFileSync("tar", ["-xzf", tarball, "--strip-components=1", "-C", own]);
  const { dependencies = {}, peerDependencies = {} } = JSON.parse(readFileSync(join(own, "package.json"), "utf8"));
  for (const name of Object.keys({ ...dependencies, ...peerDependencies })) {
    const link = join(draft, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(packages, "node_modules", name), link);
  }
  writeFileSync(join(draft, "package.json"), JSON.stringify({ private: true, type: "module" }));
  if (existsSync(folder)) rmSync(draft, { recursive: true });
  else renameSync(draft, folder); // Last, so that an interrupted installation is not used.
}

/** A hash of the files that decide what is packed. */
function hashOf(tree: string): string {
  const paths = ["src", "scripts", "package.json", "package-lock.json", "tsconfig.json", "tsconfig.build.json"];
  const listed = run("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ...paths], tree);
  const hash = createHash("sha256").update(tree);
  for (const file of listed.split("\0").sort()) {
    if (file === "" || /\.test(-d)?\.ts$|^scripts\/compare/.test(file) || !existsSync(join(tree, file))) continue;
    hash.update(file).update(readFileSync(join(tree, file)));
  }
  return hash.digest("hex").slice(0, 16);
}

/** Keeps the builds of the last five states. */
function removeOlder(folder: string): void {
  const builds = readdirSync(folder).map((name) => ({
    path: join(folder, name),
    time: statSync(join(folder, name)).mtimeMs,
  }));
  builds.sort((one, other) => other.time - one.time);
  for (const { path } of builds.slice(5)) rmSync(path, { recursive: true, force: true });
}

function run(program: string, args: string[], cwd: string): string {
  return execFileSync(program, args, {
    cwd,
    encoding: "utf8",
    maxBuffer: 1024 ** 3,
    stdio: ["ignore", "pipe", "inherit"],
  });
}
