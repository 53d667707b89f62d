import { useEffect, useRef, useState } from "preact/hooks";

import { extendSandbox, listSandboxes, Refusal, removeSandbox, type Sandbox, startSandbox, stopSandbox } from "./api";

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

const BETWEEN_LOOKS = 2_000;

const perform: Record<Deed, (sandbox: Sandbox, ttl: number) => Promise<unknown>> = {
  stop: (sandbox) => stopSandbox(sandbox.id),
  start: (sandbox) => startSandbox(sandbox.id),
  extend: (sandbox, ttl) => extendSandbox(sandbox.id, ttl),
  remove: removeSandbox,
};

/** The list of sandboxes, which is read again and again while the page is visible, and after each deed. */
export function useSandboxes(): Sandboxes {
  const [all, setAll] = useState<Sandbox[]>();
  const [busy, setBusy] = useState<ReadonlyMap<string, Deed>>(new Map());
  const [stale, setStale] = useState<Refusal>();
  const [refused, setRefused] = useState<string>();
  const look = useRef<() => Promise<void>>(async () => undefined);

  useEffect(() => {
    let timer = 0;
    let turn = 0;
    let has401 = false;
    look.current = async () => {
      clearTimeout(timer);
      const mine = ++turn;
      try {
        const found = await listSandboxes();
        if (mine !== turn) return;
        setAll(found);
        setStale(undefined);
      } catch (error) {
        if (mine !== turn) return;
        setStale(error as Refusal);
        has401 = (error as Refusal).status === 401;
      }
      if (!document.hidden && !has401) timer = setTimeout(() => void look.current(), BETWEEN_LOOKS);
    };
    const shown = () => void (document.hidden || look.current());
    document.addEventListener("visibilitychange", shown);
    void look.current();
    return () => {
      turn = -1;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", shown);
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
    try {
      await perform[deed](sandbox, ttl);
    } catch (error) {
      setRefused(`${sandbox.id}: ${(error as Refusal).message}`);
    }
    await look.current();
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
