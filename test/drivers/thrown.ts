/** An error with what leasehold and PostgreSQL put on it. */
export type Thrown = Error & {
  readonly code: string;
  readonly hint: string;
  readonly cause: Error & { readonly code: string };
};

/** What the promise rejects with; fails where it resolves. */
export async function thrown(promise: Promise<unknown>): Promise<Thrown> {
  return promise.then(
    (value) => {
      throw new Error(`expected a rejection, got ${JSON.stringify(value)}`);
    },
    (error: Thrown) => error,
  );
}
