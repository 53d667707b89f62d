/// <reference lib="esnext.disposable" preserve="true" />
import { base64OfBytes, bytesOfBase64, joined } from "./base64.js";
import { CodeContext, type CodeOptions, type CodeRun, runCode } from "./code.js";
import { Command, type CommandDetails, detailsOf, type WaitOptions } from "./command.js";
import type { Connection } from "./connection.js";
import { milliseconds } from "./durations.js";
import { SkiffError } from "./errors.js";
import { Files } from "./files.js";
import { follow } from "./follow.js";
import { newId } from "./ids.js";
import {
  type Condition,
  defined,
  type ListeningPort,
  requestOf,
  type RunOptions,
  type SessionOptions,
  sessionRequestOf,
  type StartOptions,
} from "./requests.js";
import { exitOf, type Result, resultOf, wordsOf } from "./results.js";
import type { components } from "./schemas.js";
import { Terminal, type TerminalOptions } from "./terminal.js";

type Schemas = components["schemas"];

const RUN_MS = 600_000;
const MAX_OUTPUT = 16 << 20;
/** A longer input does not fit into the request that starts the command. */
const MAX_FIRST_STDIN = 128 << 10;
/** How long the request that runs a command waits for its end; after that its output is followed. */
const FIRST_WAIT_MS = 10_000;
/** The longest time that one request waits for a condition. */
const WAIT_MS = 20_000;

/** A named workspace: directory, variables, limits, commands. A Sandbox is one, too; `await using` removes others. */
export class Session implements AsyncDisposable {
  readonly files: Files;

  /** @internal */
  constructor(
    protected readonly connection: Connection,
    /** The id of the session; "default" is always there. */
    readonly sessionId: string,
  ) {
    this.files = new Files(connection, this.path);
  }

  /**
   * Runs a command to its end: a line for the shell, or a program with its arguments. It runs once, whatever happens
   * to the connection. When `signal` is aborted, its process tree is ended. `POST /v1/sessions/{sid}/commands`.
   * Throws `command_failed` with `check`, `instance_changed` when the agent was restarted while the answer was lost.
   */
  async run(command: string | string[], options: RunOptions = {}): Promise<Result> {
    const { stdin, check, maxOutputBytes = MAX_OUTPUT, ...start } = options;
    const input = typeof stdin === "string" ? new TextEncoder().encode(stdin) : stdin;
    const later = input && input.length > MAX_FIRST_STDIN ? input : undefined;
    const firstInput = later ? { stdin_open: true } : { stdin_base64: input && base64OfBytes(input) };
    const request = defined({ ...requestOf(command, { timeout: RUN_MS, ...start }), ...firstInput });
    try {
      const first = await this.post({ ...request, mode: "wait", wait_ms: later ? 0 : FIRST_WAIT_MS }, options.signal);
      const whole = first.state === "ended" && !first.truncated;
      const result = whole
        ? resultOfAnswer(first, maxOutputBytes)
        : await this.collect(first.id, later, maxOutputBytes, options.signal);
      if (check && !result.ok) throw failureOf(command, result);
      return result;
    } catch (error) {
      // Nobody waits for it any more. If this is lost, the time limit of the command ends it.
      if (options.signal?.aborted)
        await this.handle(request.id!, 0)
          .kill({ timeout: "5s" })
          .catch(() => undefined);
      throw error;
    }
  }

  /**
   * Starts a command and returns at once. With the `id` of a command that was started before, that one. It ends by
   * itself, by `kill`, or after `timeout`; not with this program. `POST /v1/sessions/{sid}/commands`. Throws
   * `command_conflict` if the id was used for another command, `too_many_commands`.
   */
  async start(command: string | string[], options: StartOptions = {}): Promise<Command> {
    const request = { ...requestOf(command, options), mode: "background" as const, stdin_open: options.stdin ?? false };
    const started = await this.post(request, options.signal);
    return this.handle(started.id, started.stdin?.offset ?? 0);
  }

  /**
   * The handle of a command that was started before. `GET /v1/sessions/{sid}/commands/{cid}`. Throws
   * `command_not_found`.
   */
  async command(id: string, options: { signal?: AbortSignal } = {}): Promise<Command> {
    const details = await this.handle(id, 0).details(options);
    return this.handle(id, details.stdinOffset);
  }

  /** All commands that the agent keeps. `GET /v1/sessions/{sid}/commands`. */
  async commands(options: { state?: CommandDetails["state"]; signal?: AbortSignal } = {}): Promise<CommandDetails[]> {
    const all: CommandDetails[] = [];
    let cursor: string | undefined;
    do {
      const query = { limit: 1000, state: options.state, cursor };
      const request = { method: "GET", path: `${this.path}/commands`, query, repeat: true, signal: options.signal };
      const page = await this.connection.json<Schemas["CommandList"]>(request);
      all.push(...page.items.map(detailsOf));
      cursor = page.next_cursor;
    } while (cursor !== undefined);
    return all;
  }

  /**
   * Runs code with the sandbox's own interpreter, in a context that keeps its variables from call to call: "python",
   * "javascript" (node) or "bash". What it prints, the values that it shows and its error are in the answer; the
   * code's own error is not thrown. When `signal` is aborted, the code is interrupted. `POST /v1/sessions/{sid}/code`.
   * Throws `language_unavailable`, `connection_failed` (the code may have run; it is not repeated).
   */
  runCode(code: string, options: CodeOptions & { language?: string } = {}): Promise<CodeRun> {
    const { language = "python", ...more } = options;
    return runCode(this.connection, this.path, { code, language }, more);
  }

  /**
   * A further context, with variables of its own. Its process starts with its first call, in `cwd`, relative to the
   * session's directory. `POST /v1/sessions/{sid}/code/contexts`. Throws `too_many_contexts`.
   */
  async createCodeContext(options: { language?: string; cwd?: string; signal?: AbortSignal } = {}): Promise<CodeContext> {
    const { signal, ...json } = options;
    const request = { method: "POST", path: `${this.path}/code/contexts`, json, repeat: false, signal };
    const made = await this.connection.json<Schemas["CodeContext"]>(request);
    return new CodeContext(this.connection, this.path, made.id);
  }

  /** Opens a terminal with the shell of the session. `POST /v1/sessions/{sid}/commands` with `tty`. */
  async terminal(options: TerminalOptions = {}): Promise<Terminal> {
    const shown = options.command === undefined ? await this.show(options.signal) : undefined;
    const { cwd, env, signal } = options;
    const start: StartOptions = { stdin: true, tty: { cols: options.cols ?? 80, rows: options.rows ?? 24 } };
    const more = { ...(cwd !== undefined && { cwd }), ...(env && { env }), ...(signal && { signal }) };
    return new Terminal(await this.start(options.command ?? [shown!.shell.path], { ...start, ...more }), options);
  }

  /**
   * Waits until a server listens on a port, a path exists, a command has ended or its output matches. At most
   * `timeout` (default "30s"), then throws `timeout`; `command_ended` if the command ended without that output.
   * Returns the text that matched. `POST /v1/sessions/{sid}/wait`.
   */
  async waitFor(condition: Condition, options: WaitOptions = {}): Promise<string | undefined> {
    const until = Date.now() + milliseconds(options.timeout ?? "30s");
    for (;;) {
      const left = until - Date.now();
      const json: Schemas["WaitRequest"] = { for: condition, timeout_ms: Math.max(0, Math.min(left, WAIT_MS)) };
      const request = { method: "POST", path: `${this.path}/wait`, json, repeat: true, signal: options.signal };
      const answer = await this.connection.json<Schemas["WaitAnswer"]>(request);
      if (answer.met) return answer.match;
      const words = JSON.stringify(condition);
      if (answer.reason === "ended") throw new SkiffError("command_ended", `the command has ended without ${words}`);
      if (answer.reason === "shutdown") throw new SkiffError("draining", "the agent is about to stop");
      if (left <= WAIT_MS) throw new SkiffError("timeout", `${words} did not happen in time`);
    }
  }

  /** The servers that listen in the sandbox. `GET /v1/ports`. */
  async ports(options: { signal?: AbortSignal } = {}): Promise<ListeningPort[]> {
    const all = await this.connection.json<Schemas["Ports"]>({
      method: "GET",
      path: "/v1/ports",
      repeat: true,
      signal: options.signal,
    });
    return all.items.map(({ port, address, process, command }) => ({ port, address, process, command }));
  }

  /**
   * Creates another session in this sandbox. `PUT /v1/sessions/{sid}`. Throws `session_conflict` if the id is taken
   * by a different one.
   */
  async session(options: SessionOptions = {}): Promise<Session> {
    const id = options.id ?? newId("s");
    const request = {
      method: "PUT",
      path: `/v1/sessions/${encodeURIComponent(id)}`,
      json: sessionRequestOf(options),
      repeat: true,
    };
    await this.connection.json<Schemas["Session"]>({ ...request, signal: options.signal });
    return new Session(this.connection, id);
  }

  /** Ends all commands of the session, and removes it. Its files stay unless `purge`. `DELETE /v1/sessions/{sid}`. */
  async end(options: { purge?: boolean; signal?: AbortSignal } = {}): Promise<void> {
    const request = {
      method: "DELETE",
      path: this.path,
      query: { purge: options.purge },
      repeat: true,
      signal: options.signal,
    };
    await this.connection.json(request).catch((error: unknown) => {
      if (!(error instanceof SkiffError && error.code === "session_not_found")) throw error;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }

  /** The path of the session below the base of the connection. */
  protected get path(): string {
    return `/v1/sessions/${encodeURIComponent(this.sessionId)}`;
  }

  protected show(signal: AbortSignal | undefined): Promise<Schemas["Session"]> {
    return this.connection.json({ method: "GET", path: this.path, repeat: true, signal });
  }

  private handle(id: string, stdinOffset: number): Command {
    return new Command(this.connection, `${this.path}/commands/${encodeURIComponent(id)}`, id, stdinOffset);
  }

  private async post(
    json: Schemas["CommandRequest"],
    signal: AbortSignal | undefined,
  ): Promise<Schemas["StartedCommand"]> {
    // An agent that was restarted does not know the id. A repeated request must not run the command there once more.
    if (!this.connection.instance) {
      const request = { method: "GET", path: "/v1/version", repeat: true, signal };
      this.connection.instance = (await this.connection.json<Schemas["AgentVersion"]>(request)).instance;
    }
    const { instance } = this.connection;
    const again = (body: unknown) => ({ ...(body as object), if_instance: instance });
    return this.connection.json({ method: "POST", path: `${this.path}/commands`, json, repeat: true, again, signal });
  }

  /** Reads a command that runs, or whose output did not fit into one answer, to its end. */
  private async collect(
    id: string,
    stdin: Uint8Array | undefined,
    most: number,
    signal: AbortSignal | undefined,
  ): Promise<Result> {
    const path = `${this.path}/commands/${encodeURIComponent(id)}`;
    const kept = { stdout: new Kept(most), stderr: new Kept(most) };
    let writing: Promise<void> | undefined;
    if (stdin) writing = this.feed(this.handle(id, 0), stdin, signal);
    writing?.catch(() => undefined); // awaited below
    let gaps = false;
    for await (const event of follow(this.connection, path, signal ? { signal } : {})) {
      if (event.type === "output") kept[event.stream].add(event.bytes);
      else if (event.type === "gap") gaps = true;
      else {
        await writing;
        return resultOf(
          id,
          event,
          kept.stdout.bytes(),
          kept.stderr.bytes(),
          gaps || kept.stdout.cut || kept.stderr.cut,
        );
      }
    }
    throw new SkiffError("connection_failed", `command ${id}: its events ended before its exit`);
  }

  /** A command may end without reading all of its input. */
  private async feed(command: Command, stdin: Uint8Array, signal: AbortSignal | undefined): Promise<void> {
    try {
      const options = { timeout: "1h", ...(signal && { signal }) };
      await command.write(stdin, options);
      await command.closeStdin(options);
    } catch (error) {
      if (!(error instanceof SkiffError && ["stdin_closed", "command_ended"].includes(error.code))) throw error;
    }
  }
}

/** The first bytes of a stream. */
class Kept {
  cut = false;
  private size = 0;
  private readonly pieces: Uint8Array[] = [];

  constructor(private readonly most: number) {}

  add(bytes: Uint8Array): void {
    const piece = bytes.subarray(0, this.most - this.size);
    this.cut ||= piece.length < bytes.length;
    this.size += piece.length;
    if (piece.length > 0) this.pieces.push(piece);
  }

  bytes(): Uint8Array {
    return joined(this.pieces);
  }
}

function resultOfAnswer(answer: Schemas["StartedCommand"], most: number): Result {
  const encoder = new TextEncoder();
  const [stdout, stderr] = [new Kept(most), new Kept(most)];
  stdout.add(answer.stdout_base64 === undefined ? encoder.encode(answer.stdout) : bytesOfBase64(answer.stdout_base64));
  stderr.add(answer.stderr_base64 === undefined ? encoder.encode(answer.stderr) : bytesOfBase64(answer.stderr_base64));
  return resultOf(answer.id, exitOf(answer), stdout.bytes(), stderr.bytes(), stdout.cut || stderr.cut);
}

function failureOf(command: string | string[], result: Result): SkiffError {
  const words = (typeof command === "string" ? command : command.join(" ")).slice(0, 200);
  const last = result.stderr.trimEnd().split("\n").at(-1) ?? "";
  return new SkiffError("command_failed", `${words}: ${wordsOf(result)}${last && `: ${last}`}`, { result });
}
