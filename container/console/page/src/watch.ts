import { ask, type Refusal, watchAddress, watchPath } from "./api";

export interface ChangeReader {
  /** Something was made, changed or removed at these paths. */
  changed(paths: string[]): void;
  /** Anything may have changed. */
  gap(): void;
  /** Whether changes are told, and why not. */
  told(live: boolean, why?: string): void;
}

interface Change {
  type: string;
  path: string | undefined;
  from: string | undefined;
  cursor: number | undefined;
}

/** The change that a message tells; undefined for nonsense, because the agent is in the hands of its sandbox. */
function changeOf(message: unknown): Change | undefined {
  try {
    const { type, path, from, cursor } = JSON.parse(message as string) as Record<string, unknown>;
    const isText = (one: unknown) => one === undefined || typeof one === "string";
    if (typeof type !== "string" || !isText(path) || !isText(from) || (cursor !== undefined && !Number.isSafeInteger(cursor))) return undefined;
    return { type, path, from, cursor } as Change;
  } catch {
    return undefined;
  }
}

const BETWEEN_PINGS = 5_000;
const LONGEST_SILENCE = 12_000;
/** Changes are collected for so long, so that a busy sandbox does not keep the page busy. */
const COLLECTED = 250;
const MOST_PATHS = 1_000;
const PAUSES = [250, 500, 1_000, 2_000, 4_000, 8_000];

/** Follows the changes below the root of a sandbox. After a broken connection it goes on behind the last change. */
export class FileWatch {
  private socket: WebSocket | undefined;
  private cursor: number | undefined;
  private paths = new Set<string>();
  private hasGap = false;
  private collecting = 0;
  private timer = 0;
  private pinging = 0;
  private heardAt = 0;
  private attempts = 0;
  private readonly gone = new AbortController();

  constructor(
    private readonly sandbox: string,
    private readonly reader: ChangeReader,
  ) {
    this.connect();
  }

  close(): void {
    this.gone.abort();
    clearTimeout(this.timer);
    clearTimeout(this.collecting);
    this.hangUp();
  }

  private connect(): void {
    const socket = new WebSocket(watchAddress(this.sandbox, this.cursor), ["skiff.v1.json"]);
    this.socket = socket;
    this.heardAt = Date.now();
    socket.onmessage = (event: MessageEvent<unknown>) => this.heard(changeOf(event.data));
    socket.onclose = () => this.lost();
    this.pinging = setInterval(() => this.ping(), BETWEEN_PINGS);
  }

  private hangUp(): void {
    clearInterval(this.pinging);
    const socket = this.socket;
    this.socket = undefined;
    if (!socket) return;
    socket.onmessage = socket.onclose = null;
    socket.close();
  }

  private ping(): void {
    if (Date.now() - this.heardAt > LONGEST_SILENCE) this.lost();
    else if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify({ type: "ping" }));
  }

  private lost(): void {
    this.hangUp();
    this.reader.told(false);
    const pause = PAUSES[Math.min(this.attempts++, PAUSES.length - 1)];
    this.timer = setTimeout(() => this.connect(), pause);
    // A browser does not tell why a socket was refused.
    if (this.attempts > 1) void this.askWhy();
  }

  private async askWhy(): Promise<void> {
    const asked = new AbortController();
    try {
      await ask("GET", watchPath(this.sandbox), undefined, AbortSignal.any([this.gone.signal, asked.signal, AbortSignal.timeout(10_000)]));
      asked.abort();
    } catch (error) {
      const { message, status } = error as Refusal;
      if (!this.gone.signal.aborted && this.socket?.readyState !== WebSocket.OPEN && status > 0) this.reader.told(false, message);
    }
  }

  private heard(change: Change | undefined): void {
    if (!change) return this.lost();
    this.heardAt = Date.now();
    if (change.type === "watching") {
      // What changed before the first connection is not told.
      if (this.cursor === undefined) this.hasGap = true;
      this.attempts = 0;
      this.reader.told(true);
    }
    if (change.cursor !== undefined) this.cursor = change.cursor;
    if (change.type === "overflow") this.hasGap = true;
    for (const path of [change.path, change.from]) {
      if (path !== undefined) this.paths.add(path);
    }
    if (this.paths.size > MOST_PATHS) this.hasGap = true;
    if (this.hasGap) this.paths.clear();
    if (!this.collecting && (this.hasGap || this.paths.size > 0)) this.collecting = setTimeout(() => this.tell(), COLLECTED);
  }

  private tell(): void {
    this.collecting = 0;
    const paths = [...this.paths];
    const hadGap = this.hasGap;
    this.paths.clear();
    this.hasGap = false;
    if (hadGap) this.reader.gap();
    else if (paths.length > 0) this.reader.changed(paths);
  }
}
