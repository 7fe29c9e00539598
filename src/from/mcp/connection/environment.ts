const posixVariables = "HOME LANG LC_ALL LOGNAME PATH SHELL TERM TMPDIR TZ USER";
const windowsVariables =
  "APPDATA COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA PATHEXT PROCESSOR_ARCHITECTURE PROGRAMDATA PROGRAMFILES " +
  "PROGRAMFILES(X86) SYSTEMDRIVE SYSTEMROOT TEMP TMP USERNAME USERPROFILE WINDIR";

/** Variables that a program inherits by default: those that programs need to run, and no secrets. */
const defaultInherited: readonly string[] = `${posixVariables} ${windowsVariables}`.split(" ");

/**
 * Creates the environment of a program: the allowed variables of this process, overridden by those of the
 * configuration. Relative entries of `PATH` are removed, so that a file in the working directory cannot be run by its
 * name alone.
 */
export function createEnvironment(
  ours: Readonly<Record<string, string | undefined>>,
  allowed: readonly string[] = defaultInherited,
  own: Readonly<Record<string, string>> = {},
  isWindows = globalThis.process?.platform === "win32",
): Record<string, string> {
  const environment: Record<string, string> = Object.create(null);
  for (const name of allowed) {
    const value = ours[name];
    // Some shells execute a value that starts with "()" as a function.
    if (value !== undefined && !value.startsWith("()")) environment[name] = value;
  }
  for (const [name, value] of Object.entries(own)) environment[name] = value;
  for (const [name, value] of Object.entries(environment)) {
    if (name !== "PATH" && !(isWindows && name.toUpperCase() === "PATH")) continue;
    const absolute = withoutRelativeEntries(value, isWindows);
    // An empty PATH means the working directory.
    if (absolute === "") delete environment[name];
    else environment[name] = absolute;
  }
  return environment;
}

function withoutRelativeEntries(path: string, isWindows: boolean): string {
  const separator = isWindows ? ";" : ":";
  const isAbsolute = isWindows ? /^"?(?:[A-Za-z]:[\\/]|\\\\)/ : /^\//;
  return path
    .split(separator)
    .filter((entry) => isAbsolute.test(entry))
    .join(separator);
}
