import { relative } from "node:path";
import { parseArgs } from "node:util";

/** Whether a script of the repository runs the tour. A copy of this folder runs without these scripts. */
export const isScript = process.env["npm_lifecycle_event"] === "examples";

/** What to type before the options of the tour. */
export const command = isScript
  ? "npm run examples -- tour"
  : `npx tsx ${relative(process.cwd(), process.argv[1] ?? "")}`;

const help = `Usage: ${command} [options]

Shows what the package does: functions, an HTTP API and an MCP server as operations of one registry, and the same
calls over HTTP, MCP, a WebSocket and worker threads. Nothing leaves this machine. The program checks its own results.

  --all     show every part
  --nats    also call over NATS: the server at NATS_URL${isScript ? ", or one that is started" : ""}
  --redis   also call over Redis: the server at REDIS_URL${isScript ? ", or one that is started" : ""}
  --help    print this help`;

/** What to show, and which transports to call over. */
export interface TourOptions {
  all: boolean;
  transports: string[];
}

/** Reads the options of the tour. Ends the program after `--help` and for unknown options. */
export function readOptions(args: string[]): TourOptions {
  const boolean = { type: "boolean" } as const;
  try {
    const { values } = parseArgs({ args, options: { all: boolean, nats: boolean, redis: boolean, help: boolean } });
    if (!values.help) {
      const brokers = (["nats", "redis"] as const).filter((name) => values[name]);
      return { all: values.all ?? false, transports: ["http", "websocket", "worker", ...brokers] };
    }
    console.log(help);
    process.exit(0);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${help}`);
    process.exit(2);
  }
}
