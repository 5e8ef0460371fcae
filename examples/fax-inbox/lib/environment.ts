/** A variable that this application needs. Read when it is needed, since a build has none of them. */
export function needed(name: string): string {
  const value = process.env[name];
  if (value) return value;
  throw new Error(`${name} is not set: see "On a server of yours" in README.md`);
}
