import { signal } from "@preact/signals";

export interface Session {
  readonly role: "admin" | "read";
  readonly name: string | null;
  readonly title: string;
}

export const session = signal<Session | null>(null);
export const isAdmin = (): boolean => session.value?.role === "admin";

const withinMs = 20_000;

/** Rejects with a message that the page can show as it is. */
async function ask(url: string, init: RequestInit): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(url, { ...init, signal: AbortSignal.timeout(withinMs) });
  } catch {
    throw new Error("The server does not answer.");
  }
  const body = await response.json().catch(() => undefined);
  if (response.ok && body !== undefined) return body;
  const message = body?.error?.message ?? "Sign in again: the server no longer answers this page.";
  throw new Error(message);
}

const urlOf = (params: Readonly<Record<string, string>>) =>
  `${location.pathname}?${new URLSearchParams(Object.entries(params).filter(([, v]) => v !== ""))}`;

/** Asks a question under the page's own address. */
export async function get<T>(
  api: string,
  params: Readonly<Record<string, string>> = {},
): Promise<T> {
  const body = await ask(urlOf({ ...params, api }), { headers: { accept: "application/json" } });
  return (body as { answer: T }).answer;
}

/** Has the server do something. */
export async function post<T>(body: object): Promise<T> {
  const answered = await ask(urlOf({ api: "act" }), {
    method: "POST",
    headers: { "content-type": "application/json", "x-leasehold-dashboard": "1" },
    body: JSON.stringify(body),
  });
  return (answered as { answer: T }).answer;
}

export async function openSession(): Promise<void> {
  session.value = (await ask(urlOf({ api: "session" }), {})) as Session;
  document.title = session.value.title;
}
