/** How long, in ms, to wait for a server or a peer that does not answer. */
const patience = 1_500;

/** Waits for something that may never come or fail, which is all the same to who goes on anyway. */
export async function atMost(waiting: Promise<unknown>, milliseconds = patience): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([
    waiting.then(
      () => {},
      () => {},
    ),
    timeout,
  ]);
  clearTimeout(timer);
}
