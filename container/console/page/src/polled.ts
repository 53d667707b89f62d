import { useEffect, useState } from "preact/hooks";

import type { Refusal } from "./api";

export interface Polled<T> {
  /** The last answer; undefined until the first one. */
  value: T | undefined;
  /** Why the last look was refused. */
  trouble: string | undefined;
  /** Looks at once. */
  again(): void;
}

/** Looks again and again while the page is visible, with a pause between an answer and the next look. */
export function usePolled<T>(sandbox: string, pause: number, look: (sandbox: string, signal: AbortSignal) => Promise<T>): Polled<T> {
  const [value, setValue] = useState<T>();
  const [trouble, setTrouble] = useState<string>();
  const [turn, setTurn] = useState(0);

  useEffect(() => {
    const gone = new AbortController();
    let timer = 0;
    let isLooking = false;
    const again = async () => {
      if (isLooking) return;
      clearTimeout(timer);
      isLooking = true;
      try {
        const found = await look(sandbox, gone.signal);
        if (gone.signal.aborted) return;
        setValue(() => found);
        setTrouble(undefined);
      } catch (error) {
        if (gone.signal.aborted) return;
        setTrouble((error as Refusal).message);
      }
      isLooking = false;
      if (!document.hidden) timer = setTimeout(() => void again(), pause);
    };
    const shown = () => void (document.hidden || again());
    document.addEventListener("visibilitychange", shown);
    void again();
    return () => {
      gone.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", shown);
    };
  }, [sandbox, pause, turn]);

  return { value, trouble, again: () => setTurn((count) => count + 1) };
}
