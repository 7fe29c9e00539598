import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createEnvironment } from "./environment.ts";
import { openConnection } from "./index.ts";

test.each([
  ["/usr/bin:.:/bin", "/usr/bin:/bin"],
  [":/usr/bin", "/usr/bin"],
  ["/usr/bin::/bin:", "/usr/bin:/bin"],
  ["node_modules/.bin:./x:../y:/bin", "/bin"],
  [".", undefined],
  ["", undefined],
])("the PATH %s becomes %s", (path, expected) => {
  expect(createEnvironment({ PATH: path }, undefined, undefined, false)["PATH"]).toBe(expected);
  expect(createEnvironment({}, undefined, { PATH: path }, false)["PATH"]).toBe(expected);
});

test("on Windows relative entries of PATH are removed too, in any case of the name", () => {
  const path = String.raw`.;C:\Windows;bin;"D:\Program Files\x";\\server\share;C:relative;;c:/ok`;

  expect(createEnvironment({}, [], { Path: path }, true)).toEqual({
    Path: String.raw`C:\Windows;"D:\Program Files\x";\\server\share;c:/ok`,
  });
});

test.each([["."], [""], ["bin"], ["./bin"]])(
  "a PATH with the entry %j runs nothing of the working directory",
  async (entry) => {
    const folder = await mkdtemp(join(tmpdir(), "operations-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    await mkdir(join(folder, "bin"));
    for (const file of ["planted-program", "bin/planted-program"]) {
      await writeFile(join(folder, file), `#!/bin/sh\ntouch "${folder}/ran"\n`);
      await chmod(join(folder, file), 0o755);
    }

    const config = { command: "planted-program", cwd: folder, env: { PATH: `${entry}:${process.env["PATH"]}` } };
    await expect(openConnection("planted", config)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("PATH, whose relative entries are ignored"),
    });

    await expect(stat(join(folder, "ran"))).rejects.toMatchObject({ code: "ENOENT" });
  },
);
