import type { ComponentChildren } from "preact";
import { ago, moment } from "../format.ts";
import { now } from "../live.ts";
import { go, hrefOf, type Place } from "../route.ts";
import type { Status } from "../types.ts";

/** A link within the page: a new tab works, too. */
export function To({
  to,
  children,
  ...rest
}: {
  to: Place;
  children: ComponentChildren;
  class?: string;
  "aria-current"?: "page" | "true";
}) {
  return (
    <a
      href={hrefOf(to)}
      onClick={(event) => {
        if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        go(to);
      }}
      {...rest}
    >
      {children}
    </a>
  );
}

export function JobLink({ id, children }: { id: string; children: ComponentChildren }) {
  return <To to={{ view: "job", id }}>{children}</To>;
}

/** How long ago, with the moment itself on hover. */
export function Ago({ at }: { at: string | null }) {
  if (at === null) return <span class="faint">–</span>;
  return (
    <time dateTime={at} title={moment(at)}>
      {ago(at, now.value)}
    </time>
  );
}

export function Badge({ status }: { status: Status }) {
  return <span class={`badge ${status}`}>{status}</span>;
}

/** Where nothing is shown: why, or without `children` that it is on its way. */
export function Nothing({
  error,
  children = "…",
}: {
  error: string | undefined;
  children?: ComponentChildren;
}) {
  if (error === undefined) return <p class="empty">{children}</p>;
  return (
    <p class="empty bad" role="alert">
      {error}
    </p>
  );
}

/** What was last known stands below; it could not be asked again. */
export function Stale({ error }: { error: string | undefined }) {
  return error === undefined ? null : (
    <p class="stale" role="status">
      {error} What you see is from before.
    </p>
  );
}

export function Tile({
  label,
  value,
  tone = "",
  to,
}: {
  label: string;
  value: ComponentChildren;
  tone?: string;
  to?: Place;
}) {
  const inner = (
    <>
      <span class="label">{label}</span>
      <span class="value">{value}</span>
    </>
  );
  return to ? (
    <To class={`tile ${tone}`} to={to}>
      {inner}
    </To>
  ) : (
    <div class={`tile ${tone}`}>{inner}</div>
  );
}

/** A text with a button that copies it. */
export function Copyable({ text }: { text: string }) {
  return (
    <div class="copyable">
      <code>{text}</code>
      <button type="button" class="small" onClick={() => void navigator.clipboard?.writeText(text)}>
        Copy
      </button>
    </div>
  );
}
