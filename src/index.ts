export * from "./operation/index.ts";
