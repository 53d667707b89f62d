import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** A modal dialog: the browser keeps the focus in it, Escape closes it, and the focus goes back. */
function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => element.current?.showModal(), []);
  return (
    <dialog ref={element} aria-labelledby="dialog-title" onClose={onClose}>
      <h2 id="dialog-title">{title}</h2>
      {children}
    </dialog>
  );
}

const close = (event: Event) => (event.currentTarget as Element).closest("dialog")?.close();

export function RemoveDialog({ name, onRemove, onClose }: { name: string; onRemove: () => void; onClose: () => void }) {
  return (
    <Dialog title={`Remove ${name}?`} onClose={onClose}>
      <p>Its processes end, and its files are deleted. This cannot be undone.</p>
      <div class="choices">
        <button onClick={close}>Cancel</button>
        <button
          class="danger"
          onClick={(event) => {
            onRemove();
            close(event);
          }}
        >
          Remove
        </button>
      </div>
    </Dialog>
  );
}

export function CloseDialog({ title, onCloseTerminal, onClose }: { title: string; onCloseTerminal: () => void; onClose: () => void }) {
  return (
    <Dialog title="Close this terminal?" onClose={onClose}>
      <p>This ends {title}, and everything that runs in it.</p>
      <div class="choices">
        <button onClick={close}>Cancel</button>
        <button
          class="danger"
          onClick={(event) => {
            onCloseTerminal();
            close(event);
          }}
        >
          Close
        </button>
      </div>
    </Dialog>
  );
}

const LEASES: [string, number][] = [
  ["15 minutes", 900_000],
  ["1 hour", 3_600_000],
  ["8 hours", 28_800_000],
  ["1 day", 86_400_000],
  ["7 days", 604_800_000],
];

export function ExtendDialog({ name, onExtend, onClose }: { name: string; onExtend: (ttl: number) => void; onClose: () => void }) {
  const [ttl, setTtl] = useState(3_600_000);
  return (
    <Dialog title={`Extend ${name}`} onClose={onClose}>
      <fieldset>
        <legend>From now on the lease lasts</legend>
        {LEASES.map(([label, time]) => (
          <label key={label}>
            <input type="radio" name="lease" checked={ttl === time} onChange={() => setTtl(time)} /> {label}
          </label>
        ))}
      </fieldset>
      <div class="choices">
        <button onClick={close}>Cancel</button>
        <button
          class="main"
          onClick={(event) => {
            onExtend(ttl);
            close(event);
          }}
        >
          Extend
        </button>
      </div>
    </Dialog>
  );
}
