// #region declare
import { CallError, createRegistry, defineOperation, isCallError, isDeclaredError, Type } from "@alkdev/operations";

const book = defineOperation({
  namespace: "seat",
  name: "book",
  type: "mutation",
  description: "Books a seat",
  inputSchema: Type.Object({ seat: Type.Integer({ minimum: 1 }) }),
  outputSchema: Type.Object({ ticket: Type.String() }),
  errors: { SEAT_TAKEN: Type.Object({ free: Type.Array(Type.Integer()) }) },
  handler: ({ seat }, { errors }) => {
    if (seat === 13) throw new Error("The printer is out of paper.");
    if (seat > 2) return { ticket: `t-${seat}` };
    throw errors.SEAT_TAKEN({ free: [3, 4] }, `Seat ${seat} is taken.`, { mayHaveRun: false });
  },
});

const registry = createRegistry({ operations: [book] });
// #endregion declare

// #region handle
async function bookSomewhere(seat: number): Promise<string> {
  try {
    return (await registry.execute("seat.book", { seat })).data.ticket;
  } catch (error) {
    if (isDeclaredError(error, book, "SEAT_TAKEN")) return bookSomewhere(error.details.free[0]!);
    if (!isCallError(error)) throw error;
    return `${error.code}: ${error.message}`;
  }
}

console.log(await bookSomewhere(1));
console.log(await bookSomewhere(13));
console.log(await bookSomewhere(0));
// #endregion handle

// #region retry
/** Repeats a call only if that may help and is safe. */
async function retry<T>(attempts: number, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    const isSafe = isCallError(error) && error.retryable && !error.mayHaveRun;
    if (!isSafe || attempts <= 1) throw error;
    return retry(attempts - 1, run);
  }
}
// #endregion retry

// #region nested
const trip = defineOperation({
  namespace: "trip",
  name: "plan",
  type: "mutation",
  description: "Books a seat that cannot exist",
  inputSchema: Type.Object({}),
  outputSchema: Type.Unknown(),
  handler: (_input, { call }) => call(book, { seat: -1 }),
});

const planned = await createRegistry({ operations: [trip, book] })
  .execute("trip.plan")
  .catch((error) => error);
console.log(planned.toJSON());
// #endregion nested

// #region travel
const travelled = CallError.fromJSON(JSON.parse(JSON.stringify(planned)));
console.log(isCallError(travelled), travelled.code, travelled.cause);

// #endregion travel

import assert from "node:assert/strict";

let attempts = 0;
const flaky = () => {
  attempts += 1;
  if (attempts < 3) throw new CallError("UNAVAILABLE", "Not yet.", undefined, { retryable: true, mayHaveRun: false });
  return Promise.resolve("done");
};
assert.equal(await retry(3, async () => flaky()), "done");
assert.equal(await bookSomewhere(1), "t-3");
assert.deepEqual(planned.details, { nested: { operationId: "seat.book", code: "VALIDATION_ERROR" } });
