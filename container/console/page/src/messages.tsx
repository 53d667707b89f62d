import type { ComponentChildren } from "preact";

/** Text with `code` between backticks. */
export function Prose({ text }: { text: string }) {
  return (
    <>
      {text.split("`").map((part, index) => (index % 2 ? <code key={index}>{part}</code> : part))}
    </>
  );
}

export function Trouble({ text, onClose }: { text: string; onClose?: () => void }) {
  return (
    <div class="trouble" role="alert">
      <p>
        <Prose text={text} />
      </p>
      {onClose && (
        <button class="quiet" onClick={onClose}>
          Dismiss
        </button>
      )}
    </div>
  );
}

/** A box with a heading; `alone` if it is the whole page. */
export function Notice({ title, alone, children }: { title: string; alone?: boolean; children: ComponentChildren }) {
  const Heading = alone ? "h1" : "h2";
  return (
    <section class="notice">
      <Heading>{title}</Heading>
      {children}
    </section>
  );
}

/** A command line to copy. */
export function Line({ text }: { text: string }) {
  const copy = (event: Event) => {
    const button = event.currentTarget as HTMLButtonElement;
    const say = (word: string) => {
      button.textContent = word;
      setTimeout(() => (button.textContent = "Copy"), 1500);
    };
    navigator.clipboard.writeText(text).then(
      () => say("Copied"),
      () => say("Select the text"),
    );
  };
  return (
    <div class="line">
      <code>{text}</code>
      <button class="quiet" aria-label={`Copy ${text}`} onClick={copy}>
        Copy
      </button>
    </div>
  );
}
