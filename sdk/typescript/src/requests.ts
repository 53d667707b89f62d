import { type Duration, optionalMilliseconds } from "./durations.js";
import { newId } from "./ids.js";
import type { components } from "./schemas.js";

type Schemas = components["schemas"];

/** What a command may use; more is refused (`limit_unavailable`) where it cannot be enforced. */
export interface Limits {
  memoryBytes?: number;
  pids?: number;
  /** Thousandths of a core. */
  cpuMillis?: number;
  cpuTimeMs?: number;
  openFiles?: number;
  fileSizeBytes?: number;
}

export interface StartOptions {
  /** Starts at most one command, however often it is asked. By default a new one. */
  id?: string;
  /** Relative to the directory of the session. */
  cwd?: string;
  /** Variables; null removes one. */
  env?: Record<string, string | null>;
  /** Variables that are never listed or logged. */
  secretEnv?: Record<string, string>;
  /** True: the standard input stays open for `write`. */
  stdin?: boolean;
  /** Run on a pseudo-terminal of this size. */
  tty?: { cols: number; rows: number };
  /** End the whole process tree after this time. Default: the session's, or none. */
  timeout?: Duration;
  /** End it after this time without output. */
  idleTimeout?: Duration;
  /** Name or uid. */
  user?: string;
  limits?: Limits;
  signal?: AbortSignal;
}

export interface RunOptions extends Omit<StartOptions, "stdin" | "tty"> {
  /** The standard input, as a whole. */
  stdin?: string | Uint8Array;
  /** End the whole process tree after this time; default "10m". */
  timeout?: Duration;
  /** Throw `command_failed` unless it exits with 0. */
  check?: boolean;
  /**
   * The longest stdout and the longest stderr that is kept, in bytes; default 16 MiB each. More is cut off:
   * `truncated`.
   */
  maxOutputBytes?: number;
}

/** What `waitFor` waits for: one of these. */
export type Condition =
  | { port: number }
  | { path: string }
  /** The id of a command that ends. */
  | { command: string }
  /** A command, and a regular expression (RE2) that its output matches. */
  | { output: { command: string; pattern: string } };

export interface SessionOptions {
  id?: string;
  /** Directory below the root of the agent; created if it is missing. */
  root?: string;
  cwd?: string;
  env?: Record<string, string | null>;
  secretEnv?: Record<string, string>;
  /** True: directory, variables and functions stay from one command to the next, in the shell `shell` or /bin/sh. */
  stateful?: boolean;
  /** Absolute path of the shell. */
  shell?: string;
  user?: string;
  labels?: Record<string, string>;
  /** The session is removed after this time without use. */
  idleTimeout?: Duration;
  signal?: AbortSignal;
}

/** A server that listens in the sandbox. */
export interface ListeningPort {
  readonly port: number;
  readonly address: string;
  /** Name of the process, and id of its command, where they are known. */
  readonly process: string | undefined;
  readonly command: string | undefined;
}

export function requestOf(command: string | string[], options: StartOptions): Schemas["CommandRequest"] {
  return defined({
    ...(typeof command === "string" ? { command } : { argv: command }),
    id: options.id ?? newId("c"),
    cwd: options.cwd,
    env: options.env,
    secret_env: options.secretEnv,
    user: options.user,
    tty: options.tty,
    timeout_ms: optionalMilliseconds(options.timeout),
    idle_timeout_ms: optionalMilliseconds(options.idleTimeout),
    limits: options.limits && limitsOf(options.limits),
  });
}

function limitsOf(limits: Limits): Schemas["ResourceLimits"] {
  return defined({
    memory_bytes: limits.memoryBytes,
    pids: limits.pids,
    cpu_millis: limits.cpuMillis,
    cpu_time_ms: limits.cpuTimeMs,
    open_files: limits.openFiles,
    file_size_bytes: limits.fileSizeBytes,
  });
}

export function sessionRequestOf(options: SessionOptions): Schemas["SessionRequest"] {
  const shell = defined({ path: options.shell, stateful: options.stateful });
  return defined({
    root: options.root,
    cwd: options.cwd,
    env: options.env,
    secret_env: options.secretEnv,
    shell: Object.keys(shell).length > 0 ? shell : undefined,
    user: options.user,
    labels: options.labels,
    idle_timeout_ms: optionalMilliseconds(options.idleTimeout),
  });
}

/** The members that have a value. */
type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

export function defined<T extends object>(members: T): Defined<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Defined<T>;
}
