import { useEffect, useRef } from "preact/hooks";

import { Commands, commandsThatWait } from "./commands";
import { Files } from "./files";
import { State } from "./list";
import { Notice } from "./messages";
import { Network } from "./network";
import { usePolled } from "./polled";
import { Ports } from "./ports";
import { Rescue } from "./rescue";
import type { Sandboxes } from "./sandboxes";
import { Stats } from "./stats";
import { Terminals } from "./terminals";
import { unsaved } from "./text_file";

export type View = "terminal" | "commands" | "files" | "ports" | "network" | "stats";

const VIEWS: [View, string][] = [
  ["terminal", "Terminal"],
  ["commands", "Commands"],
  ["files", "Files"],
  ["ports", "Ports"],
  ["network", "Network"],
  ["stats", "Stats"],
];

/** The view of this name; the terminal for any other name. */
export function viewOf(name: string | undefined): View {
  return VIEWS.find(([view]) => view === name)?.[0] ?? "terminal";
}

/** Tells beside a view's name what waits there. */
function Mark({ text }: { text: string }) {
  return (
    <span class="dot" title={text}>
      <span class="hidden">({text})</span>
    </span>
  );
}

const BETWEEN_LOOKS = 3_000;

function WaitingMark({ sandbox }: { sandbox: string }) {
  const { value: count } = usePolled(sandbox, BETWEEN_LOOKS, commandsThatWait);
  if (!count) return null;
  return <Mark text={count === 1 ? "a command waits for input" : `${count} commands wait for input`} />;
}

export function SandboxPage({ id, view, sandboxes }: { id: string; view: View; sandboxes: Sandboxes }) {
  const heading = useRef<HTMLHeadingElement>(null);
  const sandbox = sandboxes.all?.find((one) => one.id === id);
  const deed = sandboxes.busy.get(id);
  useEffect(() => {
    document.title = `${id} · skiff console`;
    heading.current?.focus();
  }, [id]);

  return (
    <main class="one">
      <div class="top">
        <h1 ref={heading} tabIndex={-1}>
          {id}
        </h1>
        {sandbox && <State sandbox={sandbox} deed={deed} />}
        {sandbox?.reason && <span class="faint">{sandbox.reason}</span>}
        {(sandbox ?? !sandboxes.all) && (
          <nav aria-label={`Views of ${id}`}>
            {VIEWS.map(([name, label]) => (
              <a key={name} href={`#/sandboxes/${encodeURIComponent(id)}/${name}`} data-label={label} aria-current={name === view ? "page" : undefined}>
                {label}
                {name === "files" && name !== view && unsaved(id).length > 0 && <Mark text="edits are not saved" />}
                {name === "commands" && name !== view && sandbox?.state === "running" && <WaitingMark key={sandbox.uid} sandbox={id} />}
              </a>
            ))}
          </nav>
        )}
      </div>
      {!sandboxes.all && !sandboxes.stale && (
        <p class="loading" role="status">
          Loading…
        </p>
      )}
      {sandboxes.all && !sandbox && (
        <Notice title={`There is no sandbox ${id}`}>
          <p>It was removed, or it belongs to somebody else.</p>
          <Rescue sandbox={id} />
          <p>
            <a href="#/">All sandboxes</a>
          </p>
        </Notice>
      )}
      {sandbox && sandbox.state !== "running" && (
        <Notice title={sandbox.state === "creating" ? `${id} is coming up` : `${id} does not run`}>
          {sandbox.state === "creating" ? (
            <p>Its terminal opens here as soon as it answers.</p>
          ) : (
            <>
              <p>{sandbox.reason || "Its files are kept. Start it to look into it."}</p>
              <button class="main" disabled={deed !== undefined} onClick={() => sandboxes.does("start", sandbox)}>
                {deed === "start" ? "Starting…" : "Start"}
              </button>
            </>
          )}
        </Notice>
      )}
      {sandbox?.state === "running" && view === "terminal" && <Terminals key={sandbox.uid ?? id} sandbox={id} uid={sandbox.uid ?? id} />}
      {sandbox?.state === "running" && view === "commands" && <Commands key={sandbox.uid ?? id} sandbox={id} uid={sandbox.uid ?? id} />}
      {sandbox?.state === "running" && view === "files" && <Files key={sandbox.uid ?? id} sandbox={id} uid={sandbox.uid ?? id} />}
      {sandbox?.state === "running" && view === "ports" && <Ports key={sandbox.uid ?? id} sandbox={id} />}
      {sandbox?.state === "running" && view === "network" && <Network key={sandbox.uid ?? id} sandbox={id} />}
      {sandbox?.state === "running" && view === "stats" && <Stats key={sandbox.uid ?? id} sandbox={id} uid={sandbox.uid ?? id} />}
    </main>
  );
}
