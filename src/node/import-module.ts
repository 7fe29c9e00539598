import type { Jiti } from "jiti";

let jiti: Promise<Jiti> | undefined;

/**
 * Imports a module by its `file:` URL. JavaScript always, and TypeScript where Node runs it, is loaded by Node itself
 * and shares its modules with the application; otherwise TypeScript is translated on the fly.
 */
export async function importModule(url: string, nodeRunsTypeScript = canRunTypeScript()): Promise<unknown> {
  if (!/\.m?ts$/.test(new URL(url).pathname)) return import(/* @vite-ignore */ url);
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

function canRunTypeScript(): boolean {
  return Boolean((process.features as { typescript?: unknown }).typescript);
}

async function loadJiti(): Promise<Jiti> {
  const { createJiti } = await import("jiti");
  // Without cache on disk: it may lie in a temporary directory where others can write.
  return createJiti(import.meta.url, { fsCache: false });
}
