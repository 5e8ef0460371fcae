/** What `ask` answers, as JSON that nobody keeps; 503 where the database can't be asked. */
export async function answered(ask: () => Promise<unknown>): Promise<Response> {
  const headers = { "cache-control": "no-store" };
  try {
    return Response.json(await ask(), { headers });
  } catch (error) {
    console.warn("the database can't be asked:", error);
    return Response.json({ error: { code: "UNAVAILABLE" } }, { status: 503, headers });
  }
}
