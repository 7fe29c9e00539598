import { expect, test } from "vitest";
import type { MCPElicitRequest } from "../config.ts";
import { call, connect, modern, program } from "./testing.ts";

const form = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };

test.each([
  [
    "legacy",
    `calls.ask = (args, { id }) => {
      handlers.response = (response) => send({ id, result: text(JSON.stringify(response.result)) });
      send({ id: "q", method: "elicitation/create", params: { message: "Who?", requestedSchema: ${JSON.stringify(form)} } });
    };`,
  ],
  [
    "modern",
    `${modern} handlers["tools/call"] = ({ params }) => params.inputResponses === undefined
      ? { resultType: "input_required", inputRequests: { q: { method: "elicitation/create",
          params: { message: "Who?", mode: "form", requestedSchema: ${JSON.stringify(form)} } } } }
      : complete(text(JSON.stringify(params.inputResponses.q)));`,
  ],
])("a %s server that requests input receives the result of onElicit", async (_, source) => {
  const asked: MCPElicitRequest[] = [];
  const connection = await connect({
    ...program(source),
    onElicit(request) {
      asked.push(request);
      return { action: "accept", content: { name: "Ada" } };
    },
  });

  const result = JSON.parse(await call(connection, "ask"));

  expect(result).toEqual({ action: "accept", content: { name: "Ada" } });
  expect(asked).toMatchObject([{ server: "tiny", message: "Who?", mode: "form", requestedSchema: form }]);
});

test.each([
  [
    "throws",
    () => {
      throw new Error("s3cr3t: /home/ada/.token");
    },
  ],
  ["results with nothing", () => undefined as never],
])("the error of an onElicit that %s is not sent to the server", async (_, onElicit) => {
  const source = `calls.ask = (args, { id }) => {
    handlers.response = (response) => send({ id, result: text(JSON.stringify(response.error)) });
    send({ id: "q", method: "elicitation/create", params: { message: "Who?", requestedSchema: ${JSON.stringify(form)} } });
  };`;
  const connection = await connect({ ...program(source), onElicit });

  const result = JSON.parse(await call(connection, "ask"));

  expect(result).toEqual({ code: -32603, message: "The request for input failed." });
});

test("a request for input without onElicit is reported as such", async () => {
  const source = `${modern} handlers["tools/call"] = () => ({ resultType: "input_required", requestState: "s",
    inputRequests: { q: { method: "elicitation/create", params: { message: "Who?", requestedSchema: ${JSON.stringify(form)} } } } });`;
  const connection = await connect(program(source));

  await expect(call(connection, "ask")).rejects.toMatchObject({
    code: "UNSUPPORTED_RESULT_TYPE",
    data: { resultType: "input_required" },
  });
});
