import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";

const fileOf = (name: string) => fileURLToPath(new URL(`hub-config/${name}`, import.meta.url));
const environment = {
  GITHUB_TOKEN: "secret",
  SEARCH_KEY: "secret",
  BUS_KEY: "a key of at least 32 bytes, shared by all peers",
  REDIS_URL: "redis://127.0.0.1:6379",
  OFFICE_TOKEN: "secret",
};

/** Removes the folders in front of file names, so that this example prints the same everywhere. */
const withoutFolders = (message: string) => message.replaceAll(/^\S*[\\/]/gm, "");

// #region load
import { loadConfig } from "@alkdev/operations/hub";

const { config } = await loadConfig(fileOf("operations.config.ts"), { environment });
console.log(Object.keys(config.sources ?? {}));

const yaml = await loadConfig(fileOf("operations.config.yaml"), { environment });
console.log(yaml.config.rules);
// #endregion load

// #region mistakes
const mistakes = await loadConfig(fileOf("mistakes.json"), { environment }).catch((error) => error);
console.log(withoutFolders(mistakes.message));

const unset = await loadConfig(fileOf("operations.config.yaml"), { environment: {} }).catch((error) => error);
console.log(withoutFolders(unset.message));
// #endregion mistakes
assert.equal(mistakes.code, "VALIDATION_ERROR");
assert.equal(unset.code, "VALIDATION_ERROR");
assert.deepEqual(yaml.config.rules, config.rules?.slice(0, 1));
