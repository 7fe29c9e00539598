import { expect, test } from "vitest";
import type { MCPElicitRequest } from "../config.ts";
import { call, connect, modern, program } from "./testing.ts";

const form = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };

test.each([
  [
    "legacy",
    `calls.ask = (args, { id }) => {
      handlers.answer = (answer) => send({ id, result: text(JSON.stringify(answer.result)) });
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
])("a %s server that asks the user gets the answer of the handler", async (_, source) => {
  const asked: MCPElicitRequest[] = [];
  const connection = await connect({
    ...program(source),
    onElicit(request) {
      asked.push(request);
      return { action: "accept", content: { name: "Ada" } };
    },
  });

  const answer = JSON.parse(await call(connection, "ask"));

  expect(answer).toEqual({ action: "accept", content: { name: "Ada" } });
  expect(asked).toMatchObject([{ server: "tiny", message: "Who?", mode: "form", requestedSchema: form }]);
});

test.each([
  [
    "throws",
    () => {
      throw new Error("s3cr3t: /home/ada/.token");
    },
  ],
  ["answers with nothing", () => undefined as never],
])("what a handler that %s failed with is not shown to the server", async (_, onElicit) => {
  const source = `calls.ask = (args, { id }) => {
    handlers.answer = (answer) => send({ id, result: text(JSON.stringify(answer.error)) });
    send({ id: "q", method: "elicitation/create", params: { message: "Who?", requestedSchema: ${JSON.stringify(form)} } });
  };`;
  const connection = await connect({ ...program(source), onElicit });

  const answer = JSON.parse(await call(connection, "ask"));

  expect(answer).toEqual({ code: -32603, message: "The request for input failed." });
});

test("a question without a handler is told as what it is", async () => {
  const source = `${modern} handlers["tools/call"] = () => ({ resultType: "input_required", requestState: "s",
    inputRequests: { q: { method: "elicitation/create", params: { message: "Who?", requestedSchema: ${JSON.stringify(form)} } } } });`;
  const connection = await connect(program(source));

  await expect(call(connection, "ask")).rejects.toMatchObject({
    code: "UNSUPPORTED_RESULT_TYPE",
    data: { resultType: "input_required" },
  });
});
