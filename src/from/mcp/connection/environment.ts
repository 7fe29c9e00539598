/** What a program gets of this process's environment unless told otherwise: what programs need to run, and no secrets. */
export const inheritedByDefault: readonly string[] = [
  "HOME",
  "LANG",
  "LC_ALL",
  "LOGNAME",
  "PATH",
  "SHELL",
  "TERM",
  "TMPDIR",
  "TZ",
  "USER",
  // Windows
  "APPDATA",
  "COMSPEC",
  "HOMEDRIVE",
  "HOMEPATH",
  "LOCALAPPDATA",
  "PATHEXT",
  "PROCESSOR_ARCHITECTURE",
  "PROGRAMDATA",
  "PROGRAMFILES",
  "PROGRAMFILES(X86)",
  "SYSTEMDRIVE",
  "SYSTEMROOT",
  "TEMP",
  "TMP",
  "USERNAME",
  "USERPROFILE",
  "WINDIR",
];

/**
 * The environment of a program: the allowed variables of this process, and those of the configuration over them. `PATH`
 * loses its relative entries, so that nothing is run because it lies in the working directory.
 */
export function createEnvironment(
  ours: Readonly<Record<string, string | undefined>>,
  allowed: readonly string[] = inheritedByDefault,
  own: Readonly<Record<string, string>> = {},
  isWindows = globalThis.process?.platform === "win32",
): Record<string, string> {
  const environment: Record<string, string> = Object.create(null);
  for (const name of allowed) {
    const value = ours[name];
    // A value that starts with "()" is a function to some shells.
    if (value !== undefined && !value.startsWith("()")) environment[name] = value;
  }
  for (const [name, value] of Object.entries(own)) environment[name] = value;
  for (const [name, value] of Object.entries(environment)) {
    if (name !== "PATH" && !(isWindows && name.toUpperCase() === "PATH")) continue;
    const absolute = withoutRelativeEntries(value, isWindows);
    // An empty one means the working directory.
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
