import type { Leasehold } from "leasehold";
import type { Check } from "./report";

interface Tile {
  readonly id: string;
  readonly served: number;
}

export interface AreaChecks {
  readonly checks: readonly Check[];
  readonly tile: Tile;
}

const names = ["flood", "crime", "traffic"] as const;

/** Asks the three services at once. Each of them wants the map tile of the address first. */
export async function checkArea(
  leasehold: Leasehold,
  address: string,
  signal: AbortSignal,
): Promise<AreaChecks> {
  const checks = await Promise.all(
    names.map(async (name) => {
      const tile = await tileOf(leasehold, address, signal);
      return ask<Check>(`/${name}`, { tile: tile.id, address }, signal);
    }),
  );
  return { checks, tile: await tileOf(leasehold, address, signal) };
}

/**
 * However many ask for a tile at the same time, in this process or another one, the tile server is
 * asked once; for ten minutes it is not asked again.
 */
function tileOf(leasehold: Leasehold, address: string, signal: AbortSignal): Promise<Tile> {
  const name = address.trim().toLowerCase();
  return leasehold.singleFlight(`tile:${name}`, { ttl: "10m", shared: true, signal }, (load) =>
    ask<Tile>("/tile", { address: name }, load.signal),
  );
}

/** Throws an error that carries the HTTP status, by which leasehold classes it. */
async function ask<T>(
  path: string,
  query: Record<string, string>,
  signal: AbortSignal,
): Promise<T> {
  const url = `${process.env.OUTSIDE_URL}${path}?${new URLSearchParams(query)}`;
  const answer = await fetch(url, { signal, cache: "no-store" });
  if (!answer.ok) {
    const { status } = answer;
    throw Object.assign(new Error(`${path} answered ${status}`), { status });
  }
  return (await answer.json()) as T;
}
