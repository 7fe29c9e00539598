import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { bundleModule } from "../../src/transport/testing.ts";
import { isAlive } from "../support/processes.ts";

test("the processes of a pool end when the process that started them is killed, even with other work to do", async () => {
  await using worker = await bundleModule(new URL("../../src/transport/worker/testing.ts", import.meta.url));
  await using program = await bundleModule(new URL("pool-parent.ts", import.meta.url));
  const [file, module] = [fileURLToPath(program.url), fileURLToPath(worker.url)];
  const parent = spawn(process.execPath, [file, module], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void parent.kill("SIGKILL"));
  const [line] = await once(parent.stdout, "data");
  const pids: number[] = JSON.parse(String(line));

  parent.kill("SIGKILL");

  await vi.waitFor(() => expect(pids.map(isAlive)).toEqual([false, false]));
});
