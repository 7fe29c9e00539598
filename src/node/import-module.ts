import { fileURLToPath } from "node:url";
import type { Jiti } from "jiti";

let jiti: Promise<Jiti> | undefined;

/**
 * Imports a module by its `file:` URL. JavaScript always, and TypeScript where Node runs it, is loaded by Node itself
 * and shares its modules with the application; otherwise TypeScript is translated on the fly.
 */
export async function importModule(url: string, nodeRunsTypeScript = canRunTypeScript()): Promise<unknown> {
  if (!isTypeScript(url)) return import(/* @vite-ignore */ url);
  if (nodeRunsTypeScript) {
    try {
      return await import(/* @vite-ignore */ url);
    } catch (error) {
      // Enums and the like are TypeScript that Node cannot just strip. Nothing has run yet.
      if ((error as { code?: unknown } | null)?.code !== "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") throw error;
    }
  }
  jiti ??= loadJiti();
  return (await jiti).import(url);
}

let reloads = 0;

/**
 * Imports a module, and what it imports by relative paths, as if for the first time. Of a module with `await` at its top
 * level only the file itself is new: that one Node must load, which keeps every module that it has loaded.
 */
export async function importAnew(url: string): Promise<unknown> {
  const jiti = await loadJiti(false);
  try {
    return jiti(fileURLToPath(url));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    reloads += 1;
    return isTypeScript(url) ? jiti.import(url) : import(/* @vite-ignore */ `${url}?reload=${reloads}`);
  }
}

function isTypeScript(url: string): boolean {
  return /\.m?ts$/.test(new URL(url).pathname);
}

function canRunTypeScript(): boolean {
  return Boolean((process.features as { typescript?: unknown }).typescript);
}

async function loadJiti(moduleCache = true): Promise<Jiti> {
  const { createJiti } = await import("jiti");
  // Without cache on disk: it may lie in a temporary directory where others can write.
  return createJiti(import.meta.url, { fsCache: false, moduleCache });
}
