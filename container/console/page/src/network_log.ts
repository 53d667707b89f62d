import { useEffect, useState } from "preact/hooks";

import { networkLogPath, Refusal, refusalOf } from "./api";
import { eventStream } from "./event_stream";

/** A line of the log; docs/egress.md. */
export interface LogLine {
  time: string;
  verdict: "allowed" | "ended" | "denied" | "cut" | "missing";
  code?: string;
  detail?: string;
  connection?: string;
  host?: string;
  port?: number;
  address?: string;
  method?: string;
  path?: string;
  status?: number;
  /** Of a refusal: the rule that would allow it. */
  rule?: string;
  sent?: number;
  received?: number;
}

/** A connection, or equal refusals, of which the last is shown. */
export interface LogRow {
  key: string;
  line: LogLine;
  count: number;
}

/** The last event of a stream is a problem if it has ended with one. */
type Told = LogLine | { code: string; detail?: string; verdict?: undefined };

const MOST_ROWS = 500;
const BEFORE_AGAIN = 2_000;

/** The rows by which a log is shown, the newest first. */
export class LogRows {
  private rows = new Map<string, LogRow>();

  take(line: LogLine): void {
    const { verdict, host = "", port = 0 } = line;
    const isRefusal = verdict === "denied";
    const key = isRefusal ? `${line.code} ${host}:${port}` : line.connection ?? `${verdict} ${line.time}`;
    const before = this.rows.get(key);
    // A row that has news goes to the end.
    this.rows.delete(key);
    this.rows.set(key, { key, line, count: isRefusal ? (before?.count ?? 0) + 1 : 1 });
    if (this.rows.size > MOST_ROWS) this.rows.delete(this.rows.keys().next().value!);
  }

  newest(): LogRow[] {
    return [...this.rows.values()].reverse();
  }
}

/** The log of a sandbox, which is followed while the page is visible; undefined until it is open. */
export function useNetworkLog(sandbox: string): { rows: LogRow[] | undefined; trouble: string | undefined } {
  const [rows, setRows] = useState<LogRow[]>();
  const [trouble, setTrouble] = useState<string>();

  useEffect(() => {
    let gone = new AbortController();
    let timer = 0;
    const follow = async () => {
      clearTimeout(timer);
      gone.abort();
      const mine = (gone = new AbortController());
      // The newest lines come again.
      const log = new LogRows();
      let refused: Refusal | undefined;
      try {
        const opened = () => {
          setTrouble(undefined);
          setRows([]);
        };
        for await (const told of eventStream<Told>(networkLogPath(sandbox), mine.signal, {}, opened)) {
          if (mine.signal.aborted) return;
          for (const one of told) {
            if (one.verdict) log.take(one);
            else refused = refusalOf(500, JSON.stringify(one));
          }
          if (told.length > 0) setRows(log.newest());
        }
      } catch (error) {
        if (error instanceof Refusal) refused = error;
      }
      if (mine.signal.aborted) return;
      setTrouble(refused?.message);
      if (refused?.status !== 401) timer = setTimeout(() => void follow(), BEFORE_AGAIN);
    };
    const shown = () => {
      if (!document.hidden) return void follow();
      clearTimeout(timer);
      gone.abort();
    };
    document.addEventListener("visibilitychange", shown);
    shown();
    return () => {
      clearTimeout(timer);
      gone.abort();
      document.removeEventListener("visibilitychange", shown);
    };
  }, [sandbox]);
  return { rows, trouble };
}
