import { bytesOfBase64 } from "./base64.js";
import type { Connection } from "./connection.js";
import { type Duration, optionalMilliseconds } from "./durations.js";
import { SkiffError } from "./errors.js";
import { defined } from "./requests.js";
import { asSkiffError } from "./retries.js";
import type { components } from "./schemas.js";

type Schemas = components["schemas"];

const CODE_MS = 3_600_000;

/** A value that the code has shown, in each form that it offers. */
export interface CodeResult {
  /** Its repr. */
  readonly text?: string;
  readonly html?: string;
  readonly markdown?: string;
  readonly svg?: string;
  /** A figure of matplotlib, for example. */
  readonly png?: Uint8Array;
  readonly jpeg?: Uint8Array;
  readonly pdf?: Uint8Array;
  readonly latex?: string;
  readonly javascript?: string;
  readonly json?: unknown;
  /** The first 1000 rows of a DataFrame, by column. */
  readonly data?: unknown;
  /** The numbers of a figure with one plot. */
  readonly chart?: unknown;
  /** Other media types. */
  readonly extra?: unknown;
  /** True: the value of the last expression. False: it was displayed. */
  readonly isMainResult: boolean;
}

/** The exception that has ended the code. `ContextEnded`: the process of the context has ended. */
export type CodeError = Readonly<Schemas["CodeError"]>;

/** What one call has shown. */
export interface CodeRun {
  readonly context: string;
  /** True: the context was started for this call, and had no variables. */
  readonly fresh: boolean;
  readonly stdout: string;
  readonly stderr: string;
  readonly results: readonly CodeResult[];
  readonly error: CodeError | undefined;
  /** The value of the last expression as text. */
  readonly text: string | undefined;
  /** Calls in this context since it was started. */
  readonly executionCount: number;
  /** "completed"; or why the context has ended: "timeout", "ended", "invalid". */
  readonly cause: string;
}

export interface CodeOptions {
  /** Variables of the environment during this call. */
  env?: Record<string, string>;
  /** After this time the context ends with its process tree; default "1h". */
  timeout?: Duration;
  onStdout?: (text: string) => void;
  onStderr?: (text: string) => void;
  onResult?: (result: CodeResult) => void;
  signal?: AbortSignal;
}

/** Variables of one language that calls share. It outlives this object, as long as its session. */
export class CodeContext {
  /** @internal */
  constructor(
    private readonly connection: Connection,
    private readonly session: string,
    readonly id: string,
  ) {}

  /** As `runCode` of the session, in this context. */
  runCode(code: string, options: CodeOptions = {}): Promise<CodeRun> {
    return runCode(this.connection, this.session, { code, context: this.id }, options);
  }

  /** Ends its process tree; the next call starts a new one. `POST /v1/sessions/{sid}/code/contexts/{xid}/restart`. */
  async restart(): Promise<void> {
    await this.connection.json({ method: "POST", path: `${this.path}/restart`, repeat: true });
  }

  /** Ends its process tree, and forgets it. `DELETE /v1/sessions/{sid}/code/contexts/{xid}`. */
  async remove(): Promise<void> {
    await this.connection.json({ method: "DELETE", path: this.path, repeat: false });
  }

  private get path(): string {
    return `${this.session}/code/contexts/${encodeURIComponent(this.id)}`;
  }
}

/** Runs code, and keeps what it shows. It is not sent again if the connection breaks, because it may have run. */
export async function runCode(
  connection: Connection,
  session: string,
  what: Pick<Schemas["CodeRequest"], "code" | "context" | "language">,
  options: CodeOptions,
): Promise<CodeRun> {
  const path = `${session}/code`;
  const timeout = options.timeout ?? CODE_MS;
  const json = defined({ ...what, mode: "stream", env: options.env, timeout_ms: optionalMilliseconds(timeout) });
  const request = { method: "POST", path, json, repeat: false, signal: options.signal };
  const run = { context: "", fresh: false, stdout: "", stderr: "", executionCount: 0, cause: "" };
  const results: CodeResult[] = [];
  let error: CodeError | undefined;
  try {
    for await (const line of connection.lines(request)) {
      const told = JSON.parse(line) as Record<string, unknown> & { type: string; text?: string };
      if (told.type === "started") Object.assign(run, { context: told.context, fresh: told.fresh });
      else if (told.type === "stdout") {
        run.stdout += told.text;
        options.onStdout?.(told.text!);
      } else if (told.type === "stderr") {
        run.stderr += told.text;
        options.onStderr?.(told.text!);
      } else if (told.type === "result") {
        results.push(resultOf(told));
        options.onResult?.(results.at(-1)!);
      } else if (told.type === "error") {
        error = { name: String(told.name), value: String(told.value), traceback: String(told.traceback) };
      } else if (told.type === "end") {
        Object.assign(run, { executionCount: told.execution_count, cause: told.cause });
      }
    }
  } catch (failure) {
    options.signal?.throwIfAborted();
    throw asSkiffError(failure, `POST ${path} may have been carried out`);
  }
  if (run.cause === "") throw new SkiffError("connection_failed", "the answer has no end: the code may have run");
  return { ...run, results, error, text: results.find((one) => one.isMainResult)?.text };
}

function resultOf(told: Record<string, unknown>): CodeResult {
  const { type: _, is_main_result: isMainResult, ...forms } = told;
  for (const name of ["png", "jpeg", "pdf"]) {
    if (typeof forms[name] === "string") forms[name] = bytesOfBase64(forms[name]);
  }
  return { ...forms, isMainResult: isMainResult === true };
}
