import { expect, test } from "vitest";
import { testTimeoutMs } from "../../src/internal/testing.ts";
import { runSoaks } from "./run-soaks.ts";
import { transportNames } from "./transports.ts";

// A hundredth of `npm run lab -- soak`, and bounds that only a real leak breaks: what counts here is that the soaks run.
// It takes minutes on purpose: thousands of calls, and collections of garbage in three processes for each transport.
test.concurrent.each(transportNames)(
  "nothing piles up and nothing is left over %s",
  { timeout: 2 * testTimeoutMs },
  async (name) => {
    const rows = await runSoaks({ transports: [name], scale: 0.01, slack: 4 });

    expect(rows.filter(({ problems }) => problems.length > 0)).toEqual([]);
    expect(rows.map(({ soak }) => soak)).toContain("close");
  },
);
