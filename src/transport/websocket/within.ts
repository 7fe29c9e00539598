/** What `work` gives. Rejects when that takes longer than `timeout` ms, or when `signal` fires first. */
export async function within<T>(work: T | Promise<T>, timeout: number, signal?: AbortSignal): Promise<T> {
  let giveUp: () => void = () => {};
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    giveUp = () => reject(new Error("It was given up"));
    timer = setTimeout(() => reject(new Error(`It took more than ${timeout} ms`)), timeout);
  });
  signal?.addEventListener("abort", giveUp);
  try {
    return await Promise.race([work, tooLong]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", giveUp);
  }
}
