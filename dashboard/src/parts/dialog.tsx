import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface Question {
  readonly title: string;
  readonly text: ComponentChildren;
  readonly button: string;
  /** What is to be typed before it can be done; null: nothing. */
  readonly word: string | null;
  readonly answer: (yes: boolean) => void;
}

const question = signal<Question | null>(null);

/** Asks before something is done; more than ten jobs want their number typed. */
export function confirmed(asked: {
  title: string;
  text: ComponentChildren;
  button: string;
  jobs: number;
}): Promise<boolean> {
  question.value?.answer(false);
  return new Promise((answer) => {
    const word = asked.jobs > 10 ? String(asked.jobs) : null;
    question.value = { ...asked, word, answer };
  });
}

export function Confirm() {
  const asked = question.value;
  return asked && <Ask key={asked.title} {...asked} />;
}

function Ask({ title, text, button, word, answer }: Question) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState("");
  useEffect(() => dialog.current?.showModal(), []);
  const end = (yes: boolean) => {
    question.value = null;
    answer(yes);
  };
  const ready = word === null || typed.trim() === word;
  return (
    <dialog ref={dialog} aria-labelledby="ask-title" onCancel={() => end(false)}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          if (ready) end(true);
        }}
      >
        <h2 id="ask-title">{title}</h2>
        <p>{text}</p>
        {word !== null && (
          <label>
            Type <b>{word}</b> to confirm
            <input
              value={typed}
              inputMode="numeric"
              autocomplete="off"
              onInput={({ currentTarget }) => setTyped(currentTarget.value)}
            />
          </label>
        )}
        <div class="row end">
          <button type="button" onClick={() => end(false)}>
            Not now
          </button>
          <button type="submit" class="primary" disabled={!ready}>
            {button}
          </button>
        </div>
      </form>
    </dialog>
  );
}
