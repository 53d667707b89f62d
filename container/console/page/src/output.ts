import { attachAddress, type Command, Refusal, showCommand } from "./api";

/** What a reader of a command's output is told. */
export interface OutputReader {
  /** Bytes in their order, each once. Call `taken` when they were processed. */
  bytes(bytes: Uint8Array, taken: () => void): void;
  /** The output between the two offsets is not kept any more. */
  gap(from: number, to: number): void;
  /** All output that was there when the reader attached has been given. */
  isLive(): void;
  connected(is: boolean): void;
  ended(command: Command): void;
  /** The reader gives up. */
  failed(error: Refusal): void;
}

const HEADER = 24;
const KIND_OUTPUT = 1;
const KIND_STDIN = 2;
const WHEREVER = 0xffff_ffff_ffff_ffffn;
/** Bytes that may wait to be processed; above it the connection is closed, and opened again at its offset. */
const MOST_WAITING = 2 << 20;
const FEW_WAITING = 256 << 10;
/** Longest part of the kept output that a new reader gets. */
const MOST_BEFORE = 2 << 20;
const BETWEEN_PINGS = 5_000;
const LONGEST_SILENCE = 12_000;
/** Input that is remembered for a broken connection. */
const MOST_TYPED = 4 << 20;
const PAUSES = [100, 250, 500, 1000, 2000, 4000];

/**
 * Follows the output of a command, and types into it. When the connection breaks it is opened again at the offset
 * behind the last byte, so no byte is lost or repeated.
 */
export class CommandOutput {
  private socket: WebSocket | undefined;
  /** The offset behind the last byte that was given to the reader; -1 before the first connection. */
  private next = -1;
  /** The reader is live from this offset on. */
  private liveAt = 0;
  private live = false;
  private waiting = 0;
  private isHeldBack = false;
  private attempts = 0;
  private timer = 0;
  private pinging = 0;
  private heardAt = 0;
  private closed = false;
  private readonly gone = new AbortController();
  /** Input that the command has perhaps not taken, and the offset of its first byte. */
  private typed: Uint8Array[] = [];
  private typedFrom = 0;
  private typedBytes = 0;
  private size: { cols: number; rows: number } | undefined;
  private readonly retryNow = () => {
    if (!this.socket && !this.isHeldBack) this.connectSoon(0);
  };

  constructor(
    private readonly sandbox: string,
    private readonly id: string,
    private readonly reader: OutputReader,
  ) {
    addEventListener("online", this.retryNow);
    this.connectSoon(0);
  }

  close(): void {
    this.closed = true;
    this.gone.abort();
    clearTimeout(this.timer);
    removeEventListener("online", this.retryNow);
    this.hangUp();
  }

  type(bytes: Uint8Array): void {
    this.typed.push(bytes);
    this.typedBytes += bytes.length;
    while (this.isOpen() && this.typedBytes > MOST_TYPED) {
      const taken = this.typed.shift()?.length ?? 0;
      this.typedBytes -= taken;
      this.typedFrom += taken;
    }
    if (this.isOpen()) this.send(bytes, WHEREVER);
  }

  resize(cols: number, rows: number): void {
    this.size = { cols, rows };
    if (this.isOpen()) this.tellSize();
  }

  private isOpen(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  private hangUp(): void {
    clearInterval(this.pinging);
    const socket = this.socket;
    this.socket = undefined;
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }

  private connectSoon(pause: number): void {
    clearTimeout(this.timer);
    if (!this.closed) this.timer = setTimeout(() => void this.connect(), pause);
  }

  private async connect(): Promise<void> {
    this.hangUp();
    let command: Command;
    try {
      command = await showCommand(this.sandbox, this.id, AbortSignal.any([this.gone.signal, AbortSignal.timeout(10_000)]));
    } catch (error) {
      if (this.closed) return;
      // After another sign-in the output goes on.
      const refused = error instanceof Refusal && error.status >= 400 && error.status < 500 && !error.canSignIn;
      if (refused) this.reader.failed(error);
      else this.lost();
      return;
    }
    if (this.closed) return;
    if (this.next < 0) {
      this.liveAt = command.output.next_offset;
      this.next = Math.max(command.output.first_kept, this.liveAt - MOST_BEFORE);
      this.typedFrom = command.stdin.offset;
      this.beLive();
    }
    const socket = new WebSocket(attachAddress(this.sandbox, this.id, this.next), ["skiff.v1.binary"]);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    this.heardAt = Date.now();
    socket.onopen = () => this.opened(command.stdin.offset);
    socket.onmessage = (event: MessageEvent<string | ArrayBuffer>) => this.heard(event.data);
    socket.onclose = () => this.lost();
    this.pinging = setInterval(() => this.ping(), BETWEEN_PINGS);
  }

  private opened(taken: number): void {
    this.attempts = 0;
    this.reader.connected(true);
    this.tellSize();
    this.typeAgain(taken);
  }

  /** Sends again what the command had not taken before the connection broke; the agent skips bytes that it has. */
  private typeAgain(taken: number): void {
    while (this.typed.length > 0 && this.typedFrom + (this.typed[0]?.length ?? 0) <= taken) {
      const length = this.typed.shift()?.length ?? 0;
      this.typedFrom += length;
      this.typedBytes -= length;
    }
    // Somebody else has typed, too.
    if (this.typed.length === 0) this.typedFrom = taken;
    let offset = this.typedFrom;
    for (const bytes of this.typed) {
      this.send(bytes, BigInt(offset));
      offset += bytes.length;
    }
  }

  private tellSize(): void {
    if (this.size) this.socket?.send(JSON.stringify({ type: "resize", ...this.size }));
  }

  private send(bytes: Uint8Array, offset: bigint): void {
    const frame = new Uint8Array(HEADER + bytes.length);
    const view = new DataView(frame.buffer);
    view.setUint8(0, 1);
    view.setUint8(1, KIND_STDIN);
    view.setBigUint64(8, offset);
    frame.set(bytes, HEADER);
    this.socket?.send(frame);
  }

  private ping(): void {
    if (Date.now() - this.heardAt > LONGEST_SILENCE) this.lost();
    else if (this.isOpen()) this.socket?.send(JSON.stringify({ type: "ping" }));
  }

  private lost(): void {
    this.hangUp();
    if (this.closed || this.isHeldBack) return;
    this.reader.connected(false);
    this.connectSoon(PAUSES[Math.min(this.attempts++, PAUSES.length - 1)] ?? 0);
  }

  private heard(data: string | ArrayBuffer): void {
    this.heardAt = Date.now();
    if (typeof data === "string") this.told(JSON.parse(data) as { type: string; from?: number; to?: number });
    else this.printed(data);
  }

  private printed(data: ArrayBuffer): void {
    const view = new DataView(data);
    if (view.getUint8(1) !== KIND_OUTPUT) return;
    const offset = Number(view.getBigUint64(8));
    const bytes = new Uint8Array(data, HEADER).subarray(Math.max(0, this.next - offset));
    if (offset > this.next) this.reader.gap(this.next, offset);
    this.next = Math.max(this.next, offset + data.byteLength - HEADER);
    if (bytes.length === 0) return;
    const upTo = this.next;
    this.waiting += bytes.length;
    this.reader.bytes(bytes, () => {
      this.waiting -= bytes.length;
      if (upTo >= this.liveAt) this.beLive();
      if (this.isHeldBack && this.waiting < FEW_WAITING) {
        this.isHeldBack = false;
        this.connectSoon(0);
      }
    });
    if (this.waiting > MOST_WAITING) {
      this.isHeldBack = true;
      this.hangUp();
    }
  }

  private beLive(): void {
    if (this.live || this.closed || (this.next < this.liveAt)) return;
    this.live = true;
    this.reader.isLive();
  }

  private told(event: { type: string; from?: number; to?: number }): void {
    if (event.type === "gap" && event.from !== undefined && event.to !== undefined) {
      if (event.to > this.next) this.reader.gap(Math.max(event.from, this.next), event.to);
      this.next = Math.max(this.next, event.to);
      this.beLive();
    }
    if (event.type !== "exit") return;
    this.close();
    this.live = true;
    void showCommand(this.sandbox, this.id).then(
      (command) => this.reader.ended(command),
      (error: Refusal) => this.reader.failed(error),
    );
  }
}
