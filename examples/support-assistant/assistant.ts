import { type Identity, isCallError, type OperationRegistry, type OperationSpec } from "@alkdev/operations";
import { chooseTool, phrase } from "./scripted-model.ts";

// #region assistant
/** A support assistant for one customer. It finds tools by searching, so its prompt does not grow with the tool belt. */
export class Assistant {
  readonly #tools: OperationRegistry;
  readonly #customer: Identity;

  constructor(tools: OperationRegistry, customer: Identity) {
    this.#tools = tools;
    this.#customer = customer;
  }

  /** Replies to a message of the customer. */
  async reply(message: string): Promise<string> {
    const tool = chooseTool(message, this.#search(message));
    if (tool === undefined) return "I can track orders, refund them, explain how things work, or get a colleague.";
    console.log(`  [${tool.id} ${JSON.stringify(tool.input)}]`);
    try {
      const { data } = await this.#tools.execute(tool.id, tool.input, { identity: this.#customer, timeout: 10_000 });
      return phrase(tool.id, data);
    } catch (error) {
      if (!isCallError(error)) throw error;
      // A declared error has a message for the customer. Every other error needs a colleague.
      const isDeclared = this.#tools.getSpec(tool.id)?.errorSchemas?.some(({ code }) => code === error.code) ?? false;
      return isDeclared ? error.message : "Something went wrong on our side. Please try again, or ask for a person.";
    }
  }

  /** Finds tools that the customer may call, best match first. */
  #search(message: string): OperationSpec[] {
    return this.#tools.search(message, { identity: this.#customer });
  }
}
// #endregion assistant
