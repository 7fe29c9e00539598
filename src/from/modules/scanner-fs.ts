/** One entry of a directory. */
export interface ScannerEntry {
  name: string;
  isFile: boolean;
  isDirectory: boolean;
}

/** What `scanOperations` needs of a file system. `nodeFileSystem` of `@alkdev/operations/node` is ready-made. */
export interface ScannerFS {
  /** Lists a directory. What is neither file nor directory, such as a symbolic link, is passed over. */
  readdir(path: string): AsyncIterable<ScannerEntry>;
  /** The directory that relative paths start from. */
  cwd(): string;
  /** Loads a module by its `file:` URL and gives its exports. @default the runtime's own `import()` */
  import?(url: string): Promise<unknown>;
}
