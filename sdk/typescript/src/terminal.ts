import type { Command, WaitOptions } from "./command.js";
import { milliseconds } from "./durations.js";
import { SkiffError } from "./errors.js";
import type { Exit } from "./results.js";
import { Deadline } from "./waits.js";

export interface TerminalOptions {
  /** Columns; default 80. */
  cols?: number;
  /** Rows; default 24. */
  rows?: number;
  /** A line to run instead of an interactive shell. */
  command?: string;
  cwd?: string;
  env?: Record<string, string | null>;
  /**
   * Called with the output as it arrives, for example `(bytes) => xterm.write(bytes)`. Without it, `for await` reads
   * the output.
   */
  onData?: (bytes: Uint8Array) => void;
  signal?: AbortSignal;
}

/**
 * An interactive terminal: a command with a pseudo-terminal, over plain HTTP. So it needs no WebSocket, works in Node
 * 20, and goes on at its byte when the connection breaks. `await using` closes it.
 */
export class Terminal implements AsyncIterable<Uint8Array>, AsyncDisposable {
  private readonly pump: Promise<void> | undefined;
  /** The offset behind what has been read. */
  private offset = 0;
  /** Text that has been read and not been returned. */
  private unread = "";

  /** @internal */
  constructor(
    /** The command behind it. */
    readonly command: Command,
    private readonly options: TerminalOptions,
  ) {
    this.pump = options.onData && this.run(options.onData);
    this.pump?.catch(() => undefined); // `wait` tells it
  }

  /**
   * The output that has not been read yet, to the end of the shell. A slow reader holds up the terminal, as a slow
   * screen does.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    if (this.unread) yield new TextEncoder().encode(this.unread);
    this.unread = "";
    yield* this.read(this.options.signal);
  }

  /**
   * Reads until a text appears, and returns what was read, up to its end. At most `timeout` (default "30s"), then
   * throws `timeout`; `command_ended` if the shell ends before. Not together with `onData`.
   */
  async readUntil(text: string, options: WaitOptions = {}): Promise<string> {
    const deadline = new Deadline(options.signal ?? this.options.signal);
    deadline.within(milliseconds(options.timeout ?? "30s"));
    const decoder = new TextDecoder();
    const isThere = () => this.unread.includes(text);
    try {
      const pieces = isThere() ? [] : this.read(deadline.signal);
      for await (const bytes of pieces) {
        this.unread += decoder.decode(bytes, { stream: true });
        if (isThere()) break;
      }
    } catch (error) {
      if (deadline.expired)
        throw new SkiffError("timeout", `the terminal did not print ${JSON.stringify(text)} in time`);
      throw error;
    } finally {
      deadline.close();
    }
    if (!isThere())
      throw new SkiffError("command_ended", `the terminal ended before it printed ${JSON.stringify(text)}`);
    const end = this.unread.indexOf(text) + text.length;
    const seen = this.unread.slice(0, end);
    this.unread = this.unread.slice(end);
    return seen;
  }

  /** Types. `POST .../stdin`. */
  write(data: string | Uint8Array, options: WaitOptions = {}): Promise<void> {
    return this.command.write(data, options);
  }

  /** `POST .../resize`. */
  resize(cols: number, rows: number): Promise<void> {
    return this.command.resize(cols, rows);
  }

  /** Waits until the shell has ended and `onData` has had all of its output. At most `timeout`, default "1h". */
  async wait(options: WaitOptions = {}): Promise<Exit> {
    const exit = await this.command.wait(options);
    await this.pump;
    return exit;
  }

  /** Ends the shell and all that runs in it. */
  async close(): Promise<void> {
    await this.command.kill();
    await this.pump?.catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  private async *read(signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
    for await (const event of this.command.events({ offset: this.offset, ...(signal && { signal }) })) {
      if (event.type === "exit") return;
      this.offset = event.next;
      if (event.type === "output") yield event.bytes;
    }
  }

  private async run(onData: (bytes: Uint8Array) => void): Promise<void> {
    for await (const bytes of this) onData(bytes);
  }
}
