/**
 * What `promise` settles with, unless that takes longer than `ms`: then it rejects. What the promise
 * does afterwards is nobody's any more, save that a rejection goes unnoticed.
 */
export function inTime<T>(promise: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error(`the database did not answer within ${ms} ms`));
    const timer = setTimeout(late, ms);
    promise.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}

/** Resolves when the promise settles, however it does, or after `ms`. */
export async function settledWithin(promise: Promise<unknown>, ms: number): Promise<void> {
  await inTime(promise, ms).catch(() => undefined);
}
