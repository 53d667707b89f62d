import { useEffect, useRef, useState } from "preact/hooks";

import { type Command, killCommand, listCommands, type Refusal, startTerminal, TERMINAL_PREFIX } from "./api";
import { howItEnded } from "./commands";
import { CloseDialog } from "./dialogs";
import { leave, leftOf } from "./left";
import { Trouble } from "./messages";
import { Screen } from "./screen";

interface Tab {
  id: string;
  title?: string;
  ended?: string;
}

const LONGEST_TITLE = 40;

async function runningTerminals(sandbox: string): Promise<Tab[]> {
  const all = await listCommands(sandbox);
  const running = all.filter((one: Command) => one.id.startsWith(TERMINAL_PREFIX) && one.state !== "ended");
  running.sort((a, b) => a.started_at.localeCompare(b.started_at));
  return running.map(({ id }) => ({ id }));
}

/** The terminals of a sandbox, which go on while nobody looks. The first one is started at once. */
export function Terminals({ sandbox, uid }: { sandbox: string; uid: string }) {
  const [tabs, setTabs] = useState<Tab[]>();
  const [shown, setShown] = useState<string>();
  const [trouble, setTrouble] = useState<string>();
  const [isStarting, setIsStarting] = useState(false);
  const [asks, setAsks] = useState<Tab>();
  const bar = useRef<HTMLDivElement>(null);

  const show = (id: string) => {
    leave(uid, { terminal: id });
    setShown(id);
  };
  const start = async () => {
    setIsStarting(true);
    setTrouble(undefined);
    try {
      const id = await startTerminal(sandbox);
      setTabs((before) => [...(before ?? []), { id }]);
      show(id);
    } catch (error) {
      setTrouble((error as Refusal).message);
    }
    setIsStarting(false);
  };

  useEffect(() => {
    let isGone = false;
    const find = async () => {
      try {
        const found = await runningTerminals(sandbox);
        if (isGone) return;
        setTabs(found);
        const last = found.find(({ id }) => id === leftOf(uid).terminal) ?? found.at(-1);
        if (last) show(last.id);
        else await start();
      } catch (error) {
        if (!isGone) setTrouble((error as Refusal).message);
      }
    };
    void find();
    return () => {
      isGone = true;
    };
  }, [sandbox]);

  const change = (id: string, values: Partial<Tab>) =>
    setTabs((before) => before?.map((one) => (one.id === id ? { ...one, ...values } : one)));
  const move = (event: KeyboardEvent, index: number) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const next = tabs?.[(index + step + tabs.length) % tabs.length];
    if (step === 0 || !next) return;
    show(next.id);
    (bar.current?.querySelectorAll<HTMLElement>('[role="tab"]')[(index + step + (tabs?.length ?? 0)) % (tabs?.length ?? 1)])?.focus();
  };
  /** Arrows move among the tabs; who presses one wants to type. */
  const choose = (id: string, pressed: HTMLElement) => {
    if (id === shown) return pressed.closest(".terminals")?.querySelector<HTMLElement>(".xterm-helper-textarea")?.focus();
    pressed.blur();
    show(id);
  };
  const current = tabs?.find(({ id }) => id === shown);
  const close = async (tab: Tab) => {
    try {
      if (!tab.ended) await killCommand(sandbox, tab.id);
    } catch (error) {
      return setTrouble((error as Refusal).message);
    }
    // The focus goes to the terminal that is shown next.
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    const left = tabs?.filter(({ id }) => id !== tab.id) ?? [];
    setTabs((before) => before?.filter(({ id }) => id !== tab.id));
    const next = left[Math.min(tabs?.indexOf(tab) ?? 0, left.length - 1)];
    if (next) show(next.id);
    else setShown(undefined);
  };

  return (
    <section class="terminals">
      <div class="bar" ref={bar}>
        <div role="tablist" aria-label="Terminals">
          {tabs?.map((tab, index) => (
            <button
              key={tab.id}
              role="tab"
              id={`tab-${tab.id}`}
              aria-selected={tab.id === shown}
              aria-controls="terminal"
              tabIndex={tab.id === shown ? 0 : -1}
              title={tab.title}
              onClick={(event) => choose(tab.id, event.currentTarget)}
              onKeyDown={(event) => move(event, index)}
            >
              {`${index + 1}: ${(tab.title || "shell").slice(0, LONGEST_TITLE)}`}
              {tab.ended && <span class="faint"> · {tab.ended}</span>}
            </button>
          ))}
        </div>
        <button onClick={() => void start()} disabled={isStarting}>
          {isStarting ? "Starting…" : "New terminal"}
        </button>
        {current && (
          <button disabled={isStarting} onClick={() => (current.ended ? void close(current) : setAsks(current))}>
            Close terminal
          </button>
        )}
        <span class="faint keys">
          <kbd>F6</kbd> leaves the terminal
        </span>
      </div>
      {trouble && <Trouble text={trouble} onClose={() => setTrouble(undefined)} />}
      <div id="terminal" role="tabpanel" class="panel" aria-label="Terminal">
        {!tabs && !trouble && (
          <p class="loading" role="status">
            Opening a terminal…
          </p>
        )}
        {tabs?.length === 0 && !isStarting && !trouble && <p class="faint">No terminal is open.</p>}
        {shown && current && (
          <Screen
            key={shown}
            sandbox={sandbox}
            command={shown}
            label={`Terminal in ${sandbox}`}
            onTitle={(title) => change(shown, { title })}
            onEnd={(command) => change(shown, { ended: howItEnded(command) })}
            onLeave={() => bar.current?.querySelector<HTMLElement>('[aria-selected="true"]')?.focus()}
          />
        )}
      </div>
      {asks && <CloseDialog title={asks.title || "the shell"} onCloseTerminal={() => void close(asks)} onClose={() => setAsks(undefined)} />}
      {current?.ended && (
        <p class="after" role="status">
          The shell has ended ({current.ended}).{" "}
          <button class="main" onClick={() => void start()} disabled={isStarting}>
            New terminal
          </button>
        </p>
      )}
    </section>
  );
}
