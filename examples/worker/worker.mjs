// On Node 20 `tsx` does not reach into worker threads, so this loads it there. A compiled worker needs no such file.
import { register } from "tsx/esm/api";

register();
await import("./worker.ts");
