import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";

const chromium = "/usr/bin/chromium";

/**
 * Finds Debian's Chromium and installs the package when it is missing, which needs root.
 * Gives `undefined` after a printed reason where that is impossible; under `CI` it throws instead.
 */
export function ensureChromium(): string | undefined {
  if (existsSync(chromium)) return chromium;
  const obstacle = whyNotInstallable() ?? install();
  if (obstacle === undefined) return chromium;
  const message = `Browser tests need ${chromium} and ${obstacle}. Install it with: apt-get install chromium`;
  if (process.env["CI"]) throw new Error(message);
  console.log(`${message} (skipped)`);
  return undefined;
}

function whyNotInstallable(): string | undefined {
  if (!existsSync("/usr/bin/apt-get")) return "this is not a Debian system";
  if (process.getuid?.() !== 0) return "installing it takes root";
  return undefined;
}

function install(): string | undefined {
  console.log("Installing the Debian package chromium for the browser tests …");
  const options = {
    stdio: ["ignore", "ignore", "pipe"] as ["ignore", "ignore", "pipe"],
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    timeout: 240_000,
  };
  try {
    execFileSync("apt-get", ["update", "-qq"], options);
    execFileSync("apt-get", ["install", "-y", "-qq", "--no-install-recommends", "chromium"], options);
  } catch (error) {
    return `installing it failed: ${error instanceof Error ? error.message : String(error)}`;
  }
  return existsSync(chromium) ? undefined : "the package did not bring it";
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) console.log(ensureChromium() ?? "no Chromium");
