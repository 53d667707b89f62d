import { useEffect, useRef, useState } from "preact/hooks";

import { extendSandbox, Refusal, refusalOf, removeSandbox, type Sandbox, sessionNews, startSandbox, stopSandbox, UNAUTHENTICATED } from "./api";
import { listEvents, ListedSandboxes, type ListEvent } from "./list_events";

export type Deed = "stop" | "start" | "extend" | "remove";

export interface Sandboxes {
  /** Undefined until the first answer. */
  all: Sandbox[] | undefined;
  /** What goes on, by the sandbox's name. */
  busy: ReadonlyMap<string, Deed>;
  /** Why the list is not up to date. */
  stale: Refusal | undefined;
  /** The last deed that was refused. */
  refused: string | undefined;
  forget(): void;
  does(deed: Deed, sandbox: Sandbox, ttl?: number): void;
}

const BEFORE_AGAIN = 2_000;
/** How long a deed that is done waits for its event: one that has changed nothing has none. */
const NEWS = 2_000;

const perform: Record<Deed, (sandbox: Sandbox, ttl: number) => Promise<unknown>> = {
  stop: (sandbox) => stopSandbox(sandbox.id),
  start: (sandbox) => startSandbox(sandbox.id),
  extend: (sandbox, ttl) => extendSandbox(sandbox.id, ttl),
  remove: removeSandbox,
};

/** The list of sandboxes, which follows the server's events while the page is visible. */
export function useSandboxes(): Sandboxes {
  const [all, setAll] = useState<Sandbox[]>();
  const [busy, setBusy] = useState<ReadonlyMap<string, Deed>>(new Map());
  const [stale, setStale] = useState<Refusal>();
  const [refused, setRefused] = useState<string>();
  /** Who waits for news of a sandbox, by its name. */
  const waiting = useRef(new Map<string, () => void>());

  useEffect(() => {
    const listed = new ListedSandboxes();
    let gone = new AbortController();
    let timer = 0;

    const take = (told: ListEvent) => {
      const now = listed.take(told);
      if (now) setAll(now);
      if (told.type === "available") setStale(undefined);
      if (told.type === "unavailable") setStale(refusalOf(503, JSON.stringify(told)));
      if ("sandbox" in told) waiting.current.get(told.sandbox.id)?.();
    };
    const follow = async () => {
      clearTimeout(timer);
      gone.abort();
      const mine = (gone = new AbortController());
      let trouble: Refusal | undefined;
      try {
        for await (const told of listEvents(listed.cursor, mine.signal, () => setStale(undefined))) {
          if (mine.signal.aborted) return;
          take(told);
        }
      } catch (error) {
        trouble = error instanceof Refusal ? error : undefined;
      }
      if (mine.signal.aborted) return;
      mine.abort();
      listed.disconnected();
      if (trouble) setStale(trouble);
      if (trouble?.status !== 401) timer = setTimeout(() => void follow(), BEFORE_AGAIN);
    };
    const shown = () => {
      if (!document.hidden) return void follow();
      clearTimeout(timer);
      gone.abort();
    };
    document.addEventListener("visibilitychange", shown);
    addEventListener(UNAUTHENTICATED, shown);
    sessionNews.addEventListener("message", shown);
    if (!document.hidden) void follow();
    return () => {
      clearTimeout(timer);
      gone.abort();
      document.removeEventListener("visibilitychange", shown);
      removeEventListener(UNAUTHENTICATED, shown);
      sessionNews.removeEventListener("message", shown);
    };
  }, []);

  const change = (id: string, deed?: Deed) =>
    setBusy((before) => {
      const after = new Map(before);
      if (deed) after.set(id, deed);
      else after.delete(id);
      return after;
    });

  const does = async (deed: Deed, sandbox: Sandbox, ttl = 0) => {
    change(sandbox.id, deed);
    setRefused(undefined);
    const told = new Promise<void>((resolve) => waiting.current.set(sandbox.id, resolve));
    try {
      await perform[deed](sandbox, ttl);
      await Promise.race([told, new Promise((resolve) => setTimeout(resolve, NEWS))]);
    } catch (error) {
      setRefused(`${sandbox.id}: ${(error as Refusal).message}`);
    }
    waiting.current.delete(sandbox.id);
    change(sandbox.id);
  };

  return {
    all,
    busy,
    stale,
    refused,
    forget: () => setRefused(undefined),
    does: (deed, sandbox, ttl) => void does(deed, sandbox, ttl),
  };
}
