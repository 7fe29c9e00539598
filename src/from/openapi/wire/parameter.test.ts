import { expect, test } from "vitest";
import type { ParameterPlan } from "../endpoint.ts";
import { compileParameter } from "./parameter.ts";
import { parameterPlan } from "./testing.ts";

const array = ["blue", "black", "brown"];
const object = { R: 100, G: 200, B: 150 };

/** "Style Examples" of OpenAPI 3.0.4 and 3.1.1, for a parameter named `color`; `n/a` is left out. */
const styleExamples: Array<
  [style: string, explode: boolean, empty: string, text: string, array: string, object: string]
> = [
  ["matrix", false, ";color", ";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150"],
  ["matrix", true, ";color", ";color=blue", ";color=blue;color=black;color=brown", ";R=100;G=200;B=150"],
  ["label", false, ".", ".blue", ".blue,black,brown", ".R,100,G,200,B,150"],
  ["label", true, ".", ".blue", ".blue.black.brown", ".R=100.G=200.B=150"],
  ["simple", false, "", "blue", "blue,black,brown", "R,100,G,200,B,150"],
  ["simple", true, "", "blue", "blue,black,brown", "R=100,G=200,B=150"],
  ["form", false, "color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"],
  ["form", true, "color=", "color=blue", "color=blue&color=black&color=brown", "R=100&G=200&B=150"],
];

const locations: Record<string, ParameterPlan["location"][]> = {
  matrix: ["path"],
  label: ["path"],
  simple: ["path", "header"],
  form: ["query", "cookie"],
};

test.each(
  styleExamples.flatMap(([style, explode, ...expected]) =>
    locations[style]!.map((location) => ({ style, explode, location, expected })),
  ),
)("$style in $location with explode $explode is written as the specification's table has it", (example) => {
  const { style, explode, location, expected } = example;
  const write = compileParameter(parameterPlan({ name: "color", location, style, explode }));

  const written = ["", "blue", array, object].map(write);

  // RFC 6570 has no cookies; there the pairs are separated as cookies are.
  expect(written).toEqual(location === "cookie" ? expected.map((text) => text.replaceAll("&", "; ")) : expected);
});

test.each([
  ["spaceDelimited", array, "color=blue%20black%20brown"],
  ["spaceDelimited", object, "color=R%20100%20G%20200%20B%20150"],
  ["pipeDelimited", array, "color=blue%7Cblack%7Cbrown"],
  ["pipeDelimited", object, "color=R%7C100%7CG%7C200%7CB%7C150"],
  ["deepObject", object, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"],
])("%s in query of %j is written as the specification's table has it", (style, value, expected) => {
  const write = compileParameter(parameterPlan({ name: "color", location: "query", style }));

  expect(write(value)).toBe(expected);
});

test.each([
  ["form", false, "query", "a=x,y"],
  ["spaceDelimited", false, "query", "a=x%20y"],
  ["tabDelimited", false, "query", "a=x%09y"],
  ["pipeDelimited", false, "query", "a=x%7Cy"],
  ["multi", false, "query", "a=x&a=y"],
  ["simple", false, "path", "x,y"],
  ["spaceDelimited", false, "path", "x%20y"],
  ["pipeDelimited", false, "path", "x%7Cy"],
  ["spaceDelimited", false, "header", "x y"],
  ["pipeDelimited", false, "header", "x|y"],
] as const)("Swagger 2 collection %s (explode %s) in %s", (style, explode, location, expected) => {
  const write = compileParameter(parameterPlan({ name: "a", location, style, explode }));

  expect(write(["x", "y"])).toBe(expected);
});

test.each([
  [0, "a=0"],
  [false, "a=false"],
  ["", "a="],
  [-0.5, "a=-0.5"],
  [12345678901234567890n, "a=12345678901234567890"],
  [new Date(0), "a=1970-01-01T00%3A00%3A00.000Z"],
  [undefined, undefined],
  [null, undefined],
  [[], undefined],
  [{}, undefined],
  [[null, undefined], undefined],
  [["x", null, "y"], "a=x&a=y"],
  [[0, false, ""], "a=0&a=false&a="],
  [{ x: null, y: 0 }, "y=0"],
  [[{ b: 1 }, [2]], "a=%7B%22b%22%3A1%7D&a=%5B2%5D"],
])("the query value %o becomes %j", (value, expected) => {
  const write = compileParameter(parameterPlan({ name: "a", location: "query" }));

  expect(write(value)).toBe(expected);
});

test("a parameter that allows empty values is sent with an empty array, but not when it is ignored", () => {
  const write = compileParameter(parameterPlan({ name: "a", location: "query", allowEmptyValue: true }));

  expect([[], {}, null, undefined].map(write)).toEqual(["a=", "a=", "a=", undefined]);
});

test("deep objects nest with brackets and indices, and own __proto__ is a name like any other", () => {
  const write = compileParameter(parameterPlan({ name: "f", location: "query", style: "deepObject" }));
  const value = JSON.parse('{"a":{"b":[1,{"c":null,"d":"x y"}]},"__proto__":{"admin":true},"e":"&="}');

  const written = write(value);

  expect(decodeURIComponent(written!)).toBe("f[a][b][0]=1&f[a][b][1][d]=x y&f[__proto__][admin]=true&f[e]=&=");
  expect(written).toContain("&f%5Be%5D=%26%3D");
  expect(({} as { admin?: boolean }).admin).toBeUndefined();
});

test("reserved characters stay with allowReserved, except those that would end the value", () => {
  const value = ":/?@!$()*+,;= %2F %zz #[]&'";
  const query = compileParameter(parameterPlan({ name: "a", location: "query", allowReserved: true }));
  const path = compileParameter(parameterPlan({ name: "a", location: "path", allowReserved: true }));

  expect(query(value)).toBe("a=:/?@!$()*+,;=%20%2F%20%25zz%20%23%5B%5D%26%27");
  expect(path(value)).toBe(":%2F%3F@!$()*+,;=%20%252F%20%25zz%20%23[]&'");
});

test.each([
  ["query", "application/json", { a: [1] }, "p=%7B%22a%22%3A%5B1%5D%7D"],
  ["query", "application/json", "x", "p=%22x%22"],
  ["query", "application/vnd.x+json", [], "p=%5B%5D"],
  ["query", "text/plain", "a b", "p=a%20b"],
  ["header", "application/json", { a: 1 }, '{"a":1}'],
  ["path", "application/json", { a: 1 }, "%7B%22a%22%3A1%7D"],
  ["cookie", "application/json", { a: 1 }, "p=%7B%22a%22%3A1%7D"],
  ["querystring", "application/x-www-form-urlencoded", { a: "x y", b: [1, 2] }, "a=x+y&b=1&b=2"],
  ["querystring", "application/json", { a: 1 }, "%7B%22a%22%3A1%7D"],
] as const)("a %s parameter with content %s", (location, contentType, value, expected) => {
  const write = compileParameter(parameterPlan({ name: "p", location, contentType }));

  expect(write(value)).toBe(expected);
});

test("cookies of style cookie are joined as cookies and not encoded", () => {
  const write = compileParameter(parameterPlan({ name: "c", location: "cookie", style: "cookie", explode: true }));

  expect([write("a%b"), write(["x", "y"]), write({ k: 1, l: 2 })]).toEqual(["c=a%b", "c=x; c=y", "k=1; l=2"]);
});
