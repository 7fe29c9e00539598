export type { OperationManifest, ScanOptions } from "./scan-operations.ts";
export { scanOperations } from "./scan-operations.ts";
export type { ScannerFS } from "./scanner-fs.ts";
