import fc from "fast-check";
import { expect, test } from "vitest";
import { isCallError } from "../../../operation/index.ts";
import { endpointPlan, parameterPlan } from "./testing.ts";
import { compileTarget } from "./url.ts";

/** Arbitrary strings, with an increased share of characters that have a meaning in URLs and paths. */
const nasty = fc.constantFrom(
  ".",
  "..",
  "/",
  "\\",
  "%",
  "%2e",
  "%2F",
  "?",
  "#",
  "&",
  "=",
  "+",
  ";",
  ",",
  "@",
  ":",
  "\t",
  "\n",
  "\0",
  " ",
  "ü",
  "\ud800",
);
const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.array(fc.oneof(nasty, fc.string({ maxLength: 3 })), { maxLength: 8 }).map((parts) => parts.join("")),
);

/** Whether a text holds half a surrogate pair, which has no form in UTF-8. */
const isHalved = (text: string) => /\p{Surrogate}/u.test(text);

const baseUrl = "https://api.test:8443/v1";

/** The URL of a call, or `undefined` when it was refused as it should be. */
function urlOf(target: ReturnType<typeof compileTarget>, input: Record<string, unknown>): URL | undefined {
  try {
    return new URL(target.finish(target.build(input)));
  } catch (error) {
    if (isCallError(error) && error.code === "VALIDATION_ERROR" && !error.mayHaveRun) return undefined;
    throw error;
  }
}

test("the URL has the segments of the template and the whole path value, or the call is refused", () => {
  const target = compileTarget(
    endpointPlan({ baseUrl, path: "/users/{id}/pets", parameters: [parameterPlan({ name: "id", location: "path" })] }),
  );

  fc.assert(
    fc.property(anyText, (id) => {
      const url = urlOf(target, { id });
      if (url === undefined) {
        expect(id === "" || id === "." || id === ".." || isHalved(id)).toBe(true);
        return;
      }
      const segments = url.pathname.split("/");
      expect([url.origin, ...segments.slice(0, 3), ...segments.slice(4)]).toEqual([
        "https://api.test:8443",
        "",
        "v1",
        "users",
        "pets",
      ]);
      expect(decodeURIComponent(segments[3]!)).toBe(id);
      expect(url.search + url.hash).toBe("");
    }),
    { numRuns: 2000 },
  );
});

const styles = [
  ...["simple", "label", "matrix"].map((style) => ({ location: "path" as const, style })),
  ...["form", "spaceDelimited", "pipeDelimited", "deepObject"].map((style) => ({ location: "query" as const, style })),
];

test("no value in any style, reserved characters allowed or not, moves a request or adds a segment", () => {
  const anyValue = fc.oneof(
    anyText,
    fc.array(anyText, { maxLength: 3 }),
    fc.dictionary(anyText, anyText, { maxKeys: 3 }),
  );
  const anyStyle = fc.record({ style: fc.constantFrom(...styles), explode: fc.boolean(), allowReserved: fc.boolean() });

  fc.assert(
    fc.property(anyStyle, anyValue, ({ style: { location, style }, explode, allowReserved }, value) => {
      const path = location === "path" ? "/a/{v}/b" : "/a/c/b";
      const parameters = [parameterPlan({ name: "v", location, style, explode, allowReserved })];
      const url = urlOf(compileTarget(endpointPlan({ baseUrl, path, parameters })), { v: value });
      if (url === undefined) return;
      const segments = url.pathname.split("/");
      expect([url.origin, segments.length, segments[2], segments[4], url.hash]).toEqual([
        "https://api.test:8443",
        5,
        "a",
        "b",
        "",
      ]);
    }),
    { numRuns: 3000 },
  );
});

test("a query value arrives whole and adds no other parameter", () => {
  const plain = compileTarget(endpointPlan({ baseUrl, parameters: [parameterPlan({ name: "q", location: "query" })] }));

  fc.assert(
    fc.property(anyText, (q) => {
      const url = urlOf(plain, { q });
      if (url === undefined) expect(isHalved(q)).toBe(true);
      else expect([...url.searchParams]).toEqual([["q", q]]);
    }),
    { numRuns: 2000 },
  );
});

test("a query value with reserved characters adds no other parameter", () => {
  const parameter = parameterPlan({ name: "q", location: "query", allowReserved: true });
  const target = compileTarget(endpointPlan({ baseUrl, parameters: [parameter] }));

  fc.assert(
    fc.property(anyText, (q) => {
      const url = urlOf(target, { q });
      if (url !== undefined) expect([...url.searchParams.keys()]).toEqual(["q"]);
    }),
    { numRuns: 1000 },
  );
});
