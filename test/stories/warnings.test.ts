import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { bundleProgram } from "../../src/transport/testing.ts";

/** Runs a process whose operations drift and whose source has an invalid operation. Returns what it writes. */
async function run(mode: "default" | "configured" | "off"): Promise<{ stdout: string; stderr: string }> {
  const program = await bundleProgram(new URL("warnings-program.ts", import.meta.url));
  return promisify(execFile)(process.execPath, [program, mode]);
}

test("warnings are written to the console, once per operation and kind", async () => {
  const { stdout, stderr } = await run("default");

  expect({ stdout, stderr: stderr.split("\n") }).toEqual({
    stdout: "done\n",
    stderr: [
      '[alkdev.operations.registry] shop: shop. was skipped. Invalid operation "shop.": /name must be 1 to 256 characters without control characters.',
      "[alkdev.operations.registry] sensor.read returned /celsius with a type that differs from its outputSchema. It was converted.",
      "[alkdev.operations.registry] sensor.read returned /humidity, which does not match its outputSchema. It was not changed.",
      "[alkdev.operations.registry] sensor.read returned /firmware, which is not part of its outputSchema. It was removed.",
      "[alkdev.operations.registry] sensor.read did not return /unit, which its outputSchema requires. It was set to an empty value.",
      "[alkdev.operations.registry] sensor.count returned data, which does not match its outputSchema. It was not changed.",
      "",
    ],
  });
});

test.each(["configured", "off"] as const)("nothing is written to the console when logging is %s", async (mode) => {
  expect(await run(mode)).toEqual({ stdout: "done\n", stderr: "" });
});
