import { useEffect, useRef, useState } from "preact/hooks";

import { flags, isServed, type Sandbox } from "./api";
import { ExtendDialog, RemoveDialog } from "./dialogs";
import { Line, Notice } from "./messages";
import type { Deed, Sandboxes } from "./sandboxes";
import { age, span, whole } from "./quantities";

const DOING: Record<Deed, string> = { stop: "Stopping…", start: "Starting…", extend: "Extending…", remove: "Removing…" };
const SOON = 600_000;

/** The current time, once a second. */
function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

export function State({ sandbox, deed }: { sandbox: Sandbox; deed?: Deed | undefined }) {
  return (
    <span class={`state ${deed ? "busy" : sandbox.state}`} title={sandbox.reason || undefined}>
      {deed ? DOING[deed] : sandbox.state}
    </span>
  );
}

function Lease({ sandbox, now }: { sandbox: Sandbox; now: number }) {
  if (!sandbox.expires_at) return <span class="faint">no end</span>;
  const left = Date.parse(sandbox.expires_at) - now;
  const then = sandbox.on_end === "stop" ? "then it is stopped" : "then it ends";
  return (
    <span class={left < SOON && sandbox.state === "running" ? "soon" : undefined} title={`${whole(sandbox.expires_at)}, ${then}`}>
      {left > 0 ? `in ${span(left - (left % (left > 3_600_000 ? 60_000 : 1_000)))}` : "over"}
    </span>
  );
}

interface RowProps {
  sandbox: Sandbox;
  deed: Deed | undefined;
  now: number;
  withTemplate: boolean;
  onDeed(deed: Deed): void;
}

function Row({ sandbox, deed, now, withTemplate, onDeed }: RowProps) {
  const { id, state } = sandbox;
  const isBusy = deed !== undefined;
  const runs = state === "running";
  const turn = runs || state === "creating" ? "stop" : "start";
  // A button that is disabled while it works would lose the focus, and the keyboard its place.
  const turns = () => {
    if (!isBusy && state !== "creating") onDeed(turn);
  };
  return (
    <tr aria-busy={isBusy}>
      <th scope="row" data-label="Name">
        <a href={`#/sandboxes/${encodeURIComponent(id)}`}>{id}</a>
        {sandbox.owner && <small>{sandbox.owner}</small>}
      </th>
      <td data-label="State">
        <State sandbox={sandbox} deed={deed} />
        {sandbox.reason && <small>{sandbox.reason}</small>}
      </td>
      <td data-label="Age">
        {sandbox.created_at ? (
          <span title={whole(sandbox.created_at)}>{age(sandbox.created_at, now)}</span>
        ) : (
          <span class="faint">unknown</span>
        )}
      </td>
      <td data-label="Lease ends">
        <Lease sandbox={sandbox} now={now} />
      </td>
      {withTemplate && <td data-label="Template">{sandbox.template || <span class="faint">none</span>}</td>}
      <td class="deeds">
        <div role="group" aria-label={`Actions for ${id}`}>
          <button aria-label={`${turn === "stop" ? "Stop" : "Start"} ${id}`} aria-disabled={isBusy || state === "creating"} onClick={turns}>
            {turn === "stop" ? "Stop" : "Start"}
          </button>
          <button aria-label={`Extend ${id}`} disabled={isBusy || !runs} onClick={() => onDeed("extend")}>
            Extend
          </button>
          <button class="danger" aria-label={`Remove ${id}`} disabled={isBusy} onClick={() => onDeed("remove")}>
            Remove
          </button>
        </div>
      </td>
    </tr>
  );
}

function Empty() {
  return (
    <Notice title="No sandboxes yet">
      <p>Make one in a terminal; it appears here at once:</p>
      <Line text={`skiff up demo${flags()}`} />
      {isServed ? (
        <p class="faint">
          The API key with which you have signed in belongs into <code>SKIFF_API_KEY</code>. Sandboxes that other clients make for its tenant
          appear, too.
        </p>
      ) : (
        <p class="faint">
          Here are the sandboxes of your name and of the driver with which this console was started. Give <code>skiff up</code> the same
          flags.
        </p>
      )}
    </Notice>
  );
}

export function List({ sandboxes }: { sandboxes: Sandboxes }) {
  const now = useNow();
  const heading = useRef<HTMLHeadingElement>(null);
  const [asks, setAsks] = useState<{ deed: "extend" | "remove"; sandbox: Sandbox }>();
  useEffect(() => {
    document.title = "Sandboxes · skiff console";
  }, []);
  const { all, busy, does } = sandboxes;
  // The command line makes sandboxes without one.
  const withTemplate = all?.some((one) => one.template) ?? false;

  const close = () => {
    setAsks(undefined);
    // The button that has opened the dialog may be gone.
    setTimeout(() => document.activeElement === document.body && heading.current?.focus());
  };
  return (
    <main>
      <h1 ref={heading} tabIndex={-1}>
        Sandboxes {all && all.length > 0 && <span class="count">{all.length}</span>}
      </h1>
      {!all && !sandboxes.stale && (
        <p class="loading" role="status">
          Loading…
        </p>
      )}
      {all?.length === 0 && <Empty />}
      {all && all.length > 0 && (
        <table class="sandboxes">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col" class="of-state">
                State
              </th>
              <th scope="col" class="of-age">
                Age
              </th>
              <th scope="col" class="of-lease">
                Lease ends
              </th>
              {withTemplate && (
                <th scope="col" class="of-template">
                  Template
                </th>
              )}
              <th scope="col" class="of-deeds">
                <span class="hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {all.map((one) => (
              <Row
                key={one.uid ?? one.id}
                sandbox={one}
                deed={busy.get(one.id)}
                now={now}
                withTemplate={withTemplate}
                onDeed={(deed) => (deed === "extend" || deed === "remove" ? setAsks({ deed, sandbox: one }) : does(deed, one))}
              />
            ))}
          </tbody>
        </table>
      )}
      {asks?.deed === "remove" && (
        <RemoveDialog name={asks.sandbox.id} onRemove={() => does("remove", asks.sandbox)} onClose={close} />
      )}
      {asks?.deed === "extend" && (
        <ExtendDialog name={asks.sandbox.id} onExtend={(ttl) => does("extend", asks.sandbox, ttl)} onClose={close} />
      )}
    </main>
  );
}
