import { parseArgs } from "node:util";

const help = `Usage: npm start -- [options]

Shows what the package does: functions, an HTTP API and an MCP server as operations of one registry, and the same
calls through worker threads and a WebSocket. Stays on this machine, and checks itself.

  --nats    also through a NATS server: the one at NATS_URL, or one that \`npm start\` starts for the tour
  --redis   also through a Redis server: the one at REDIS_URL, or one that \`npm start\` starts for the tour
  --help    print this`;

/** The ways that the calls of the tour shall take. Ends the program when it was asked for help, or wrongly. */
export function readWays(args: string[]): string[] {
  try {
    const options = { nats: { type: "boolean" }, redis: { type: "boolean" }, help: { type: "boolean" } } as const;
    const { values } = parseArgs({ args, options });
    if (!values.help) return ["worker", "websocket", ...(["nats", "redis"] as const).filter((name) => values[name])];
    console.log(help);
    process.exit(0);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${help}`);
    process.exit(2);
  }
}
