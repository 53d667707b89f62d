import type { Connection } from "./connection.js";
import { type Duration, milliseconds } from "./durations.js";
import { SkiffError } from "./errors.js";
import { follow, type FollowOptions } from "./follow.js";
import type { components } from "./schemas.js";
import { type Event, type Exit, exitOf } from "./results.js";

type Schemas = components["schemas"];

/** The longest time that one request waits for the end of a command; a longer wait is several requests. */
const WAIT_MS = 20_000;

/** How long something may take, and what ends it early. */
export interface WaitOptions {
  /** Milliseconds, or "90s", "5m", "1h". */
  timeout?: Duration;
  signal?: AbortSignal;
}

/**
 * A command that was started: `start`, `command`. It outlives the connection and this object. `for await` over it
 * reads its events.
 */
export class Command implements AsyncIterable<Event> {
  /** How it ended; undefined until `wait`, `kill` or the events have told. */
  exit: Exit | undefined;
  /** Writes go out one after the other, each at its offset, so that a repeated one writes nothing twice. */
  private writing: Promise<unknown> = Promise.resolve();

  /** @internal */
  constructor(
    private readonly connection: Connection,
    /** The path of the command below the connection's base. */
    private readonly path: string,
    readonly id: string,
    private stdinOffset: number,
  ) {}

  /**
   * Its output from the beginning (or `offset`) to its exit: Output, Gap and at last one Exit. Goes on at the next
   * byte when the connection breaks. `GET /v1/sessions/{sid}/commands/{cid}/output`. Throws `command_forgotten` when
   * the agent does not keep the command any more, `connection_failed` when nobody answers.
   */
  async *events(options: FollowOptions = {}): AsyncGenerator<Event> {
    for await (const event of follow(this.connection, this.path, options)) {
      if (event.type === "exit") this.exit = event;
      yield event;
    }
  }

  [Symbol.asyncIterator](): AsyncGenerator<Event> {
    return this.events();
  }

  /**
   * Waits for the end, at most `timeout` (default "1h"): then throws `timeout`, and the command continues.
   * `GET /v1/sessions/{sid}/commands/{cid}?wait_ms=`.
   */
  async wait(options: WaitOptions = {}): Promise<Exit> {
    const until = Date.now() + milliseconds(options.timeout ?? "1h");
    for (;;) {
      const left = until - Date.now();
      const shown = await this.show(Math.max(0, Math.min(left, WAIT_MS)), options.signal);
      if (shown.state === "ended") return (this.exit = exitOf(shown));
      if (left <= 0) throw new SkiffError("timeout", `command ${this.id} has not ended`);
    }
  }

  /**
   * Writes to the standard input of a command with `stdin` or a terminal. Resolves when the agent has passed all of
   * it on, at most after `timeout` (default "5m"): then throws `timeout`. `POST .../stdin?offset=`. Throws
   * `stdin_closed` for a command that takes no input, `command_ended` after its end.
   */
  write(data: string | Uint8Array, options: WaitOptions = {}): Promise<void> {
    const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data.slice();
    return this.next(async () => {
      await this.send(bytes, false, options);
      this.stdinOffset += bytes.length;
    });
  }

  /** Ends the standard input, after all writes. `POST .../stdin?eof=true`. Does nothing if it has ended. */
  closeStdin(options: WaitOptions = {}): Promise<void> {
    return this.next(async () => {
      await this.send(new Uint8Array(), true, options).catch((error: unknown) =>
        ignore(error, "stdin_closed", "command_ended"),
      );
    });
  }

  /**
   * Sends a signal by name ("INT", "HUP", ...), and returns at once. `target`: by default the whole tree for KILL and
   * TERM, the group for INT and QUIT, else the main process. `POST .../signal`. Throws `command_ended` after its end,
   * `connection_failed` if it may have been sent: a signal is not repeated.
   */
  async signal(
    signal: string,
    options: { target?: "leader" | "group" | "tree"; signal?: AbortSignal } = {},
  ): Promise<void> {
    const body: Schemas["SignalRequest"] = { signal, ...(options.target && { target: options.target }) };
    await this.connection.json({
      method: "POST",
      path: `${this.path}/signal`,
      json: body,
      repeat: false,
      signal: options.signal,
    });
  }

  /**
   * Ends the whole process tree, waits for the end (at most `timeout`, default "30s"), and says how it ended:
   * `killLevel` is "tree" or "cgroup" if no process is left. `grace`: how long the processes may take after SIGTERM
   * before SIGKILL; default 0, SIGKILL at once. Those that end by SIGTERM leave `killLevel` undefined. `POST
   * .../signal`. A command that has ended is left alone.
   */
  async kill(options: WaitOptions & { grace?: Duration } = {}): Promise<Exit> {
    const grace = milliseconds(options.grace ?? 0);
    const json: Schemas["SignalRequest"] = {
      // CONT harms nothing. The escalation ends the tree and looks whether a process is left; a plain KILL does not.
      signal: grace > 0 ? "TERM" : "CONT",
      target: "tree",
      escalate_after_ms: grace,
    };
    await this.connection
      .json({ method: "POST", path: `${this.path}/signal`, json, repeat: true, signal: options.signal })
      .catch((error: unknown) => ignore(error, "command_ended"));
    return this.wait({ timeout: grace + 30_000, ...options });
  }

  /** Changes the size of its terminal. `POST .../resize`. Throws `not_a_terminal` for a command without one. */
  async resize(cols: number, rows: number, options: { signal?: AbortSignal } = {}): Promise<void> {
    const json: Schemas["TerminalSize"] = { cols, rows };
    await this.connection.json({
      method: "POST",
      path: `${this.path}/resize`,
      json,
      repeat: true,
      signal: options.signal,
    });
  }

  /** What the agent knows of it now. `GET /v1/sessions/{sid}/commands/{cid}`. */
  async details(options: { signal?: AbortSignal } = {}): Promise<CommandDetails> {
    return detailsOf(await this.show(undefined, options.signal));
  }

  /**
   * Ends the process tree and forgets the command and its output. Its id stays taken. `DELETE .../commands/{cid}`.
   */
  async remove(options: { signal?: AbortSignal } = {}): Promise<void> {
    await this.connection
      .json({ method: "DELETE", path: this.path, repeat: true, signal: options.signal })
      .catch((error: unknown) => ignore(error, "command_forgotten", "command_not_found"));
  }

  private show(waitMs: number | undefined, signal: AbortSignal | undefined): Promise<Schemas["Command"]> {
    return this.connection.json({ method: "GET", path: this.path, query: { wait_ms: waitMs }, repeat: true, signal });
  }

  private async send(bytes: Uint8Array, eof: boolean, options: WaitOptions): Promise<void> {
    await this.connection.json({
      method: "POST",
      path: `${this.path}/stdin`,
      query: { offset: this.stdinOffset, eof: eof || undefined },
      body: () => bytes,
      repeat: true,
      wholeMs: milliseconds(options.timeout ?? "5m"),
      signal: options.signal,
    });
  }

  private next(work: () => Promise<void>): Promise<void> {
    const done = this.writing.then(work, work);
    this.writing = done.catch(() => undefined);
    return done;
  }
}

function ignore(error: unknown, ...codes: string[]): void {
  if (!(error instanceof SkiffError && codes.includes(error.code))) throw error;
}

/** A command in a listing. */
export interface CommandDetails {
  readonly id: string;
  readonly state: "starting" | "running" | "ended";
  /** The line, or the program with its arguments. */
  readonly command: string | readonly string[];
  readonly pid: number | undefined;
  readonly startedAt: Date;
  readonly terminal: boolean;
  /** Bytes that were written to its standard input. */
  readonly stdinOffset: number;
  /** The offset after its output so far. */
  readonly nextOffset: number;
  /** How it ended, once it has. */
  readonly exit: Exit | undefined;
}

export function detailsOf(wire: Schemas["Command"]): CommandDetails {
  return {
    id: wire.id,
    state: wire.state,
    command: wire.argv ?? wire.command ?? "",
    pid: wire.pid,
    startedAt: new Date(wire.started_at),
    terminal: wire.tty,
    stdinOffset: wire.stdin.offset,
    nextOffset: wire.output.next_offset,
    exit: wire.state === "ended" ? exitOf(wire) : undefined,
  };
}
