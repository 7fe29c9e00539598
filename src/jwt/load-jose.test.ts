import { expect, test } from "vitest";
import { loadJose } from "./load-jose.ts";

test("a missing jose is told with the command that installs it", async () => {
  const missing = Object.assign(new Error("Cannot find package 'jose'"), { code: "ERR_MODULE_NOT_FOUND" });

  await expect(loadJose(() => Promise.reject(missing))).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message: "Signed identities need the package jose, which is not installed. Install it: npm install jose",
    mayHaveRun: false,
  });
});

test("a jose that cannot be loaded for another reason says so itself", async () => {
  const broken = new SyntaxError("Unexpected token");

  await expect(loadJose(() => Promise.reject(broken))).rejects.toBe(broken);
});
