import { bytesOfBase64, textOf } from "./base64.js";
import type { components } from "./schemas.js";

type Schemas = components["schemas"];

/** Why a command ended. Newer agents may send other words. */
export type Cause = Schemas["CommandCause"];

/** A piece of the output of a command. */
export class Output {
  readonly type = "output";
  readonly stream: "stdout" | "stderr";
  /** The offset of the first byte; stdout and stderr are counted together, from 0. */
  readonly offset: number;
  /** The offset after the last byte: `events({ offset: next })` continues there. */
  readonly next: number;
  /** When the agent read it. */
  readonly time: Date;
  /** The output as text. Bytes that are not UTF-8 become U+FFFD: `bytes` has them unchanged. */
  readonly text: string;
  readonly #base64: string | undefined;

  constructor(event: Schemas["Event"]) {
    this.stream = event.stream ?? "stdout";
    this.offset = event.offset!;
    this.next = event.next!;
    this.time = new Date(event.time!);
    this.text = textOf(event.data, event.data_base64);
    this.#base64 = event.data_base64;
  }

  get bytes(): Uint8Array {
    return this.#base64 === undefined ? new TextEncoder().encode(this.text) : bytesOfBase64(this.#base64);
  }
}

/** Output that the agent no longer keeps, or dropped: `next - offset` bytes. */
export interface Gap {
  readonly type: "gap";
  /** The first missing offset. */
  readonly offset: number;
  /** The offset after the last missing one. */
  readonly next: number;
}

/** How a command ended. */
export interface Exit {
  readonly type: "exit";
  /** null if a signal ended the command, or if it could not start. */
  readonly exitCode: number | null;
  /** For example "SIGTERM"; null if it exited. */
  readonly signal: string | null;
  readonly cause: Cause;
  /** After a kill: "tree" or "cgroup" if no process is left, "incomplete" if some may be. */
  readonly killLevel: string | undefined;
  /** False: more output may follow, from processes in the background. */
  readonly outputComplete: boolean;
  /** Processes that still run and hold a pipe. */
  readonly background: readonly number[];
  /** In a stateful session: whether its state was saved. */
  readonly stateSaved: "saved" | "discarded" | "conflict" | undefined;
  /** Why the command could not start, with the cause `spawn_failed`. */
  readonly error: { readonly stage: string; readonly errno: string; readonly message: string } | undefined;
  readonly endedAt: Date;
  readonly durationMs: number;
  /** Processor times in microseconds, memory in bytes. */
  readonly usage: Readonly<Schemas["Usage"]> | undefined;
}

export type Event = Output | Gap | Exit;

/** The fields of an end, in events, results and listings alike. */
export type WireExit = Pick<
  Schemas["StartedCommand"],
  | "exit_code"
  | "signal"
  | "cause"
  | "kill_level"
  | "output_complete"
  | "background"
  | "state_saved"
  | "error"
  | "ended_at"
  | "duration_ms"
  | "usage"
>;

export function exitOf(wire: WireExit): Exit {
  return {
    type: "exit",
    exitCode: wire.exit_code ?? null,
    signal: wire.signal ?? null,
    cause: wire.cause ?? "exited",
    killLevel: wire.kill_level,
    outputComplete: wire.output_complete ?? true,
    background: wire.background ?? [],
    stateSaved: wire.state_saved,
    error: wire.error,
    endedAt: new Date(wire.ended_at ?? Date.now()),
    durationMs: wire.duration_ms ?? 0,
    usage: wire.usage,
  };
}

/** What a command that has ended has printed, and how it ended. */
export interface Result extends Omit<Exit, "type"> {
  /** The id of the command. */
  readonly id: string;
  /** True if it exited with 0. */
  readonly ok: boolean;
  /** Text; bytes that are not UTF-8 become U+FFFD. */
  readonly stdout: string;
  readonly stderr: string;
  readonly stdoutBytes: Uint8Array;
  readonly stderrBytes: Uint8Array;
  /** True if `stdout` or `stderr` is not whole: more than `maxOutputBytes`, or a gap. */
  readonly truncated: boolean;
}

export function resultOf(id: string, exit: Exit, stdout: Uint8Array, stderr: Uint8Array, truncated: boolean): Result {
  const { type: _, ...end } = exit;
  const decoder = new TextDecoder();
  return {
    ...end,
    id,
    ok: exit.exitCode === 0,
    stdout: decoder.decode(stdout),
    stderr: decoder.decode(stderr),
    stdoutBytes: stdout,
    stderrBytes: stderr,
    truncated,
  };
}

/** For people: "exit code 3", "SIGKILL (timeout)", "it could not start: No such file or directory". */
export function wordsOf(exit: Exit | Result): string {
  if (exit.error) return `it could not start: ${exit.error.message}`;
  const end = exit.signal ?? `exit code ${exit.exitCode}`;
  return exit.cause === "exited" || exit.cause === "signaled" ? end : `${end} (${exit.cause})`;
}
