"use client";

import { useEffect, useState } from "react";

/**
 * A moment in the reader's own time. The server does not know where they are, so until the page has
 * come to life it is told in UTC.
 */
export function Moment({ at }: { at: string }) {
  const isAlive = useIsAlive();
  const date = new Date(at);
  const utc = `${date.toISOString().slice(0, 16).replace("T", " ")} UTC`;
  return <time dateTime={at}>{isAlive ? local(date) : utc}</time>;
}

/** When something happens: "at 12:30:05", or "any moment" where that has come. */
export function When({ at }: { at: string }) {
  const isAlive = useIsAlive();
  if (isAlive && Date.parse(at) <= Date.now()) return "any moment";
  return (
    <>
      at <Moment at={at} />
    </>
  );
}

/** False while the page is as the server has made it. */
function useIsAlive(): boolean {
  const [isAlive, setIsAlive] = useState(false);
  useEffect(() => setIsAlive(true), []);
  return isAlive;
}

/** The day as well, where it is not today. */
function local(date: Date): string {
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday
    ? date.toLocaleTimeString()
    : date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}
