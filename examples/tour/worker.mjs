// On Node 20, tsx does not apply to worker threads, so this file loads it there. A compiled worker does not need it.
import { register } from "tsx/esm/api";

register();
await import("./worker.ts");
