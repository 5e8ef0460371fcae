/** The bytes of a request's body; null where there are more than `maxBytes`, which are not read. */
export async function bodyOf(request: Request, maxBytes: number): Promise<Uint8Array | null> {
  if (Number(request.headers.get("content-length")) > maxBytes) return null;
  const reader = request.body?.getReader();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for (let read = await reader?.read(); read?.value; read = await reader?.read()) {
    bytes += read.value.byteLength;
    // The header may have been missing, or a lie.
    if (bytes > maxBytes) {
      await reader?.cancel();
      return null;
    }
    chunks.push(read.value);
  }
  return Buffer.concat(chunks);
}
