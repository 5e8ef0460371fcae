/** A shorter one can be guessed; it closes what it should guard. */
export const minSecretLength = 16;

/**
 * Whether the request carries `Authorization: Bearer` with this secret; never where there is none. The
 * time that it takes tells nothing of the secret: hashes are compared, every byte of them.
 */
export async function bringsSecret(request: Request, secret: string | undefined): Promise<boolean> {
  const token = /^Bearer +(\S.*)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
  if (token === undefined || secret === undefined) return false;
  const [given, wanted] = await Promise.all([hash(token), hash(secret)]);
  let difference = 0;
  for (let i = 0; i < wanted.length; i += 1) difference |= (given[i] ?? 0) ^ (wanted[i] ?? 0);
  return difference === 0;
}

async function hash(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}
