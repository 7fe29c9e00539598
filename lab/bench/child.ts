import type { Row } from "./table.ts";

/** Runs one bench in this process, which the runner started only for it, and sends back its rows. */
const { run } = (await import(process.argv[2]!)) as { run: () => Promise<Row[]> };
const rows = await run();
process.send!(rows, () => process.exit(0));
