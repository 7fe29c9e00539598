import { CallError } from "./error.ts";

/**
 * Loads an optional peer dependency. If the package itself is missing, it throws `UNAVAILABLE` with the command that
 * installs it; any other failure, such as a missing dependency of the package, is thrown unchanged.
 *
 * @param name name of the package
 * @param purpose the feature that requires it, such as `the NATS transport`, for the message
 * @param load imports it. The caller writes the `import()` with a literal name, so that bundlers find it
 */
export async function loadPeer<T>(name: string, purpose: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if (missingPackage(error) !== name) throw error;
    throw new CallError(
      "UNAVAILABLE",
      `The package ${name} is required for ${purpose} and is not installed. Install it: npm install ${name}`,
      { package: name },
      { cause: error, mayHaveRun: false },
    );
  }
}

/** Returns the package that an import did not find: the first quoted name in the message, without a path inside the package. */
function missingPackage(error: unknown): string | undefined {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  if (code !== "ERR_MODULE_NOT_FOUND" && code !== "MODULE_NOT_FOUND") return undefined;
  return /['"]((?:@[^/'"]+\/)?[^/'"]+)(?:\/[^'"]*)?['"]/.exec(String(message))?.[1];
}
