import { useState } from "preact/hooks";

/** So many entries of an array or object are shown at first. */
const firstShown = 50;

/** A JSON value as a tree: objects and arrays fold, texts stand as they are. */
export function Tree({
  value,
  name,
  depth = 0,
}: {
  value: unknown;
  name?: string;
  depth?: number;
}) {
  if (typeof value !== "object" || value === null) {
    return (
      <div class="leaf">
        {name !== undefined && <span class="name">{name}</span>}
        <span class={`json-${value === null ? "null" : typeof value}`}>
          {typeof value === "string" ? value : String(value)}
        </span>
      </div>
    );
  }
  return <Branch value={value} name={name} depth={depth} />;
}

function Branch({
  value,
  name,
  depth,
}: {
  value: object;
  name: string | undefined;
  depth: number;
}) {
  const [shown, setShown] = useState(firstShown);
  const [open, setOpen] = useState(depth < 3);
  const entries = Object.entries(value);
  const size = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  return (
    <details open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        {name !== undefined && <span class="name">{name}</span>} <span class="faint">{size}</span>
      </summary>
      {open &&
        entries
          .slice(0, shown)
          .map(([key, item]) => <Tree key={key} name={key} value={item} depth={depth + 1} />)}
      {open && entries.length > shown && (
        <button type="button" class="small" onClick={() => setShown(shown + 500)}>
          {entries.length - shown} more
        </button>
      )}
    </details>
  );
}
