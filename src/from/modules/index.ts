export type { ScannerEntry, ScannerFS } from "./find-modules.ts";
export { type OperationManifest, type ScanOptions, scanOperations } from "./scan-operations.ts";
