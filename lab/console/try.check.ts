import { execFile } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createToken } from "../../src/auth/index.ts";
import { openView, type RunningHub, send } from "../../test/package/console/support.ts";
import { consumer, openConsole, report, startBrowser, startHub } from "./check-hub.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser?.close());

const link = (input: unknown) => Buffer.from(JSON.stringify(input)).toString("base64url");
const field = (page: Page, pointer: string) => page.locator(`[data-field="${pointer}"]`);
const checked = (page: Page) => page.waitForSelector(".check-line:is([data-state=valid], [data-state=invalid])");

/** The draft, as its JSON view shows it; the form is shown again afterwards. */
async function readDraft(page: Page): Promise<unknown> {
  await page.getByRole("tab", { name: "JSON" }).click();
  const text = await page.locator(".code textarea").inputValue();
  await page.getByRole("tab", { name: "Form" }).click();
  return text === "" ? undefined : JSON.parse(text);
}

describe("one operation", () => {
  let hub: RunningHub;
  let page: Page;
  let problems: string[];
  beforeAll(async () => {
    hub = await startHub();
    ({ page, problems } = await openConsole(browser, hub));
  });
  afterAll(async () => {
    await page?.context().close();
    await hub?.close();
  });

  test("a field of every kind is filled in, and the hub receives the value", async () => {
    await openView(page, hub.url, "operations/shop.profile");
    await field(page, "/name").locator("input").fill("Ada");
    for (const name of [
      "letter",
      "age",
      "country",
      "born",
      "calledAt",
      "apiKey",
      "labels",
      "point",
      "parent",
      "family",
      "anything",
    ]) {
      await page.getByRole("button", { name: `set ${name}` }).click();
      await page.getByRole("button", { name: `Remove ${name}` }).waitFor();
    }
    await field(page, "/letter").locator("textarea").fill("Dear Sir,\n\nhello");
    await field(page, "/age").locator("input").fill("36");
    await field(page, "/isMember").getByRole("button", { name: "choose" }).click();
    await field(page, "/isMember").getByRole("checkbox").check();
    await field(page, "/size").getByLabel("M", { exact: true }).check();
    await field(page, "/country").locator("select").selectOption({ label: "ee" });
    await field(page, "/born").locator("input").fill("1815-12-10");
    await field(page, "/calledAt").locator("input").fill("2026-11-20T09:30:00Z");
    expect(await field(page, "/apiKey").locator("input").getAttribute("type")).toBe("password");
    await field(page, "/apiKey").locator("input").fill("a secret");
    await field(page, "/address/street").locator("input").fill("Main Street");
    await field(page, "/labels").getByPlaceholder("new property").fill("colour");
    await field(page, "/labels").getByPlaceholder("new property").press("Enter");
    await field(page, "/labels/colour").locator("input").fill("red");
    for (const [at, tag] of ["one", "two"].entries()) {
      await field(page, "/tags").getByRole("button", { name: "Add" }).click();
      await field(page, `/tags/${at}`).locator("input").fill(tag);
    }
    await field(page, "/tags/1").getByRole("button", { name: "Move 1 up" }).click();
    await field(page, "/point/0").locator("input").fill("1.5");
    await field(page, "/point/1").locator("input").fill("-2");
    await field(page, "/pay").getByLabel("by invoice").check();
    await field(page, "/pay/days").locator("input").fill("30");
    await field(page, "/parent").getByLabel("null").check();
    await field(page, "/family/name").locator("input").fill("root");
    await page.getByRole("button", { name: "set children" }).click();
    await field(page, "/family/children").getByRole("button", { name: "Add" }).first().click();
    await field(page, "/family/children/0/name").locator("input").fill("leaf");
    await field(page, "/anything").locator("textarea").fill('{"x": [1, null]}');
    const expected = {
      ...{
        name: "Ada",
        letter: "Dear Sir,\n\nhello",
        age: 36,
        isMember: true,
        size: "M",
        country: "ee",
        born: "1815-12-10",
      },
      ...{
        calledAt: "2026-11-20T09:30:00Z",
        apiKey: "a secret",
        address: { street: "Main Street" },
        labels: { colour: "red" },
      },
      ...{ tags: ["two", "one"], point: [1.5, -2], pay: { by: "invoice", days: 30 }, parent: null },
      ...{ family: { name: "root", children: [{ name: "leaf" }] }, anything: { x: [1, null] } },
    };
    expect(await readDraft(page)).toEqual(expected);
    await send(page);
    await page.getByRole("tab", { name: "Raw" }).click();
    expect(JSON.parse((await page.locator(".result pre").textContent())!)).toEqual(expected);
  });

  test("a number that JavaScript would round is refused by name, and JSON that does not parse loses nothing", async () => {
    await openView(page, hub.url, `operations/shop.profile?input=${link({ name: "Ada", age: 1 })}`);
    await field(page, "/age").locator("input").fill("9007199254740993");
    await page.getByText("JavaScript would round this number").waitFor();
    await field(page, "/age").locator("input").fill("2");
    await page.getByRole("tab", { name: "JSON" }).click();
    await page.locator(".code textarea").fill('{ "name": "Bob", ');
    await page.getByText("This is not JSON").waitFor();
    await page.getByRole("tab", { name: "Form" }).click();
    await page.getByText("Fix the JSON first").waitFor();
    expect(await field(page, "/name").locator("input").inputValue()).toBe("Ada");
    expect(await field(page, "/name").locator("input").isDisabled()).toBe(true);
    await page.getByRole("tab", { name: "JSON" }).click();
    expect(await page.locator(".code textarea").inputValue()).toBe('{ "name": "Bob", ');
  });

  test("a link fills in the input and sends nothing, and has no secret", async () => {
    await openView(page, hub.url, `operations/shop.profile?input=${link({ name: "Ada", apiKey: "hunter2" })}`);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await checked(page);
    expect(await page.locator("section.result").count()).toBe(0);
    await page.getByRole("button", { name: "Copy as" }).click();
    await page.getByRole("menuitem", { name: "Copy link" }).click();
    await page.getByText("Link copied").waitFor();
    const copied = new URL((await page.evaluate("navigator.clipboard.readText()")) as string);
    const input = new URLSearchParams(copied.hash.split("?")[1]).get("input")!;
    expect(JSON.parse(Buffer.from(input, "base64url").toString())).toEqual({ name: "Ada" });
  });

  test("drift stands at its field, and a cancelled call is aborted at the hub", async () => {
    await openView(page, hub.url, `operations/weather.forecast?input=${link({ city: "Oslo" })}`);
    await send(page);
    const degrees = page.locator('[data-path="/days/1/degrees"]');
    expect(await degrees.textContent()).toContain("converted");
    await openView(page, hub.url, "operations/shop.wait");
    await page.waitForSelector(".check-line[data-state=valid]");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.getByRole("button", { name: "Cancel" }).waitFor();
    await page.getByRole("link", { name: /show the tree/ }).waitFor();
    await page.keyboard.press("Escape");
    await page.locator("section.result[data-state=error]").waitFor();
    expect(await page.locator("section.result code").first().textContent()).toBe("ABORTED");
    await page.getByRole("link", { name: "Show the tree of calls" }).click();
    await page.locator(".call-header .bad", { hasText: "ABORTED" }).waitFor();
  });

  test("pictures and links of a tool are shown, and nothing that could run", async () => {
    await openView(page, hub.url, `operations/media.draw?input=${link({ of: "a cat" })}`);
    await send(page);
    await page.locator(".blocks img").waitFor();
    expect(await page.locator(".blocks img").count()).toBe(1);
    expect(await page.locator(".blocks audio").count()).toBe(1);
    expect(await page.locator('.blocks a[href="https://example.com/gallery"]').getAttribute("rel")).toContain(
      "noopener",
    );
    expect(await page.locator(".blocks").textContent()).toContain("javascript:");
    expect(await page.locator('.blocks a[href^="javascript"]').count()).toBe(0);
    expect(await page.locator(".blocks").textContent()).toContain("<b>Not bold</b>");
    expect(await page.title()).not.toContain("owned");
    await openView(page, hub.url, "operations/media.fail");
    await send(page, "error");
    expect(await page.locator("section.result").textContent()).toContain("the tool reports an error");
  });

  test("every value of a fast subscription is counted", async () => {
    await openView(page, hub.url, `operations/shop.stock?input=${link({ every: 1, count: 5_000 })}`);
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("button", { name: "Start again" }).waitFor({ timeout: 60_000 });
    expect(await page.locator("section.result [data-count]").getAttribute("data-count")).toBe("5000");
    expect(await page.locator(".stream li").count()).toBeLessThanOrEqual(100);
  });

  test("the page did nothing that it must not do", () => {
    expect(problems).toEqual([]);
  });
});

/** A JSON Schema, a value that it accepts, and one that was made for another schema. */
interface Case {
  schema: object;
  value: unknown;
}

const texts = fc.string({ unit: "grapheme", maxLength: 12 });
const leaves: fc.Arbitrary<Case>[] = [
  fc.record({ schema: fc.constant({ type: "string" }), value: texts }),
  fc.record({
    schema: fc.constant({ type: "string", minLength: 2 }),
    value: fc.string({ minLength: 2, maxLength: 9 }),
  }),
  fc.record({ schema: fc.constant({ type: "integer", minimum: -5 }), value: fc.integer({ min: -5, max: 1e9 }) }),
  fc.record({
    schema: fc.constant({ type: "number" }),
    value: fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0),
  }),
  fc.record({ schema: fc.constant({ type: "boolean" }), value: fc.boolean() }),
  fc.record({
    schema: fc.constant({ enum: ["a", 1, null, "longer"] }),
    value: fc.constantFrom("a", 1, null, "longer"),
  }),
  fc.record({ schema: fc.constant({ type: ["string", "null"] }), value: fc.option(texts) }),
  fc.record({ schema: fc.constant({}), value: fc.jsonValue({ maxDepth: 2 }) }),
];
const { node: nested } = fc.letrec<{ node: Case }>((tie) => ({
  node: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    ...leaves,
    fc.array(tie("node"), { minLength: 1, maxLength: 3 }).map((parts) => ({
      schema: { type: "array", prefixItems: parts.map((part) => part.schema), minItems: parts.length },
      value: parts.map((part) => part.value),
    })),
    tie("node").map(({ schema, value }) => ({ schema: { type: "array", items: schema }, value: [value, value] })),
    tie("node").map(({ schema, value }) => ({
      schema: { type: "object", additionalProperties: schema },
      value: { key: value, "a/b~c": value },
    })),
    fc.tuple(tie("node"), tie("node")).map(([one, other]) => ({
      schema: { anyOf: [one.schema, other.schema] },
      value: other.value,
    })),
    objects(tie("node")),
  ),
}));

function objects(members: fc.Arbitrary<Case>): fc.Arbitrary<Case> {
  return fc
    .tuple(fc.dictionary(fc.constantFrom("a", "b", "key-1", "π"), members, { minKeys: 1 }), fc.boolean())
    .map(([all, isOpen]) => {
      const each = Object.entries(all);
      const [first] = each;
      return {
        schema: {
          type: "object",
          properties: Object.fromEntries(each.map(([name, { schema }]) => [name, schema])),
          required: [first![0]],
          ...(!isOpen && { additionalProperties: false }),
        },
        value: Object.fromEntries(each.map(([name, { value }]) => [name, value])),
      };
    });
}

test("form and JSON keep the value of generated schemas, and the form calls valid what the hub accepts", async () => {
  // JSON has no -0, and properties called __proto__ are left out of forms.
  const normal = (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown;
  const cases = fc
    .sample(objects(nested), { numRuns: 60, seed: 7 })
    .map(({ schema, value }) => ({ schema, value: normal(value) }))
    .filter(({ value }) => !JSON.stringify(value).includes("__proto__"));
  const hub = await startHub({ schemas: cases.map(({ schema }) => schema) });
  const { page, context, problems } = await openConsole(browser, hub);
  const outcomes = { valid: 0, invalid: 0 };
  for (const [at, { value }] of cases.entries()) {
    for (const input of [value, cases[(at + 1) % cases.length]!.value]) {
      await openView(page, hub.url, `operations/made.op${at}?input=${link(input)}`);
      await checked(page);
      expect(await readDraft(page)).toEqual(input);
      // Typing what is there changes nothing.
      for (const box of await page.locator("[data-field] input:is([type=text], [inputmode]):visible").all())
        await box.fill(await box.inputValue());
      expect(await readDraft(page)).toEqual(input);
      const state = (await (await checked(page)).getAttribute("data-state")) as keyof typeof outcomes;
      const response = await fetch(`${hub.url}/made/op${at}`, {
        method: "POST",
        headers: { authorization: `Bearer ${hub.token}`, "content-type": "application/json" },
        body: JSON.stringify(input),
      });
      expect({ at, input, state }).toEqual({ at, input, state: response.ok ? "valid" : "invalid" });
      outcomes[state] += 1;
    }
  }
  report("generated inputs that are valid", outcomes.valid);
  report("generated inputs that are not valid", outcomes.invalid);
  expect(Math.min(outcomes.valid, outcomes.invalid)).toBeGreaterThan(10);
  expect(problems).toEqual([]);
  await context.close();
  await hub.close();
});

test("every copied line, run as it is, returns the same data", async () => {
  const { token, hash } = createToken();
  const identity = { id: "ada", scopes: ["shop", "weather", "media", "hub:read"] };
  const hub = await startHub({ tokens: [{ hash, identity }] });
  const { page, context, problems } = await openConsole(browser, hub, { token });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const bin = join(consumer, "node_modules/.bin");
  if (!existsSync(join(bin, "operations"))) {
    mkdirSync(bin, { recursive: true });
    const program = join(consumer, "node_modules/@alkdev/operations/dist/cli/main.js");
    chmodSync(program, 0o755);
    symlinkSync(program, join(bin, "operations"));
  }
  const env = { ...process.env, OPERATIONS_TOKEN: token, NO_COLOR: "1" };
  const run = async (file: string, args: string[]) =>
    (await promisify(execFile)(file, args, { cwd: consumer, env, timeout: 60_000 })).stdout;
  const inputs: [id: string, input: object][] = [
    ["shop.price", { item: "Mug 'n' \"Lamp\" $HOME `ls` \\ ‮ ü 🙂" }],
    ["weather.forecast", { city: "São Paulo", days: 3 }],
    ["media.caption", { city: "Oslo", degrees: 3.5 }],
  ];
  for (const [id, input] of inputs) {
    await openView(page, hub.url, `operations/${id}?input=${link(input)}`);
    await send(page);
    await page.getByRole("tab", { name: "Raw" }).click();
    const data = JSON.parse((await page.locator(".result pre").textContent())!);
    const copy = async (name: string) => {
      await page.getByRole("button", { name: "Copy as" }).click();
      await page.getByRole("menuitem", { name: `Copy as ${name}` }).click();
      await page.getByText(`${name} copied`).waitFor();
      const text = (await page.evaluate("navigator.clipboard.readText()")) as string;
      expect(text).not.toContain(token);
      return text;
    };
    writeFileSync(
      join(consumer, "copied.mts"),
      (await copy("TypeScript"))
        .replace("console.log(await ", "console.log(JSON.stringify(await ")
        .replace(/\);\nawait client/, "));\nawait client"),
    );
    expect(JSON.parse(await run(process.execPath, ["--import", "tsx", "copied.mts"]))).toEqual(data);
    expect(JSON.parse(await run("bash", ["-c", await copy("curl")]))).toEqual(data);
    expect(JSON.parse(await run("bash", ["-c", `${await copy("command")} --json`]))).toEqual(data);
    const { result } = JSON.parse(await run("bash", ["-c", await copy("MCP request")]));
    expect(result.structuredContent.result ?? result.structuredContent).toEqual(data);
  }
  expect(problems).toEqual([]);
  await context.close();
  await hub.close();
});
