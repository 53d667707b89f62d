import type { Sendable } from "./body.js";
import { problemOf, SkiffError } from "./errors.js";
import { asSkiffError, Retries } from "./retries.js";
import { Deadline } from "./waits.js";

/**
 * The longest time for one attempt of a request, and between two pieces of a stream: the agent sends keep-alives each
 * 15 s.
 */
const ATTEMPT_MS = 60_000;
const QUIET_MS = 60_000;

export type Query = Record<string, string | number | boolean | string[] | undefined>;

export interface Request {
  method: string;
  /** Path and query below the base of the connection. */
  path: string;
  query?: Query;
  headers?: Record<string, string>;
  /** A value that is sent as JSON. */
  json?: unknown;
  /** A body that is sent as it is, made anew for each attempt. */
  body?: () => Sendable;
  /** Whether the request may be sent again when its answer was lost. */
  repeat: boolean;
  /** Changes the JSON value of a repeated request. */
  again?: (json: unknown) => unknown;
  /** Milliseconds for one attempt. */
  attemptMs?: number;
  /** Milliseconds for all attempts; after that `timeout` is thrown. */
  wholeMs?: number;
  signal?: AbortSignal | undefined;
}

/** Where a credential comes from. `fresh` is true after a 401: the last one is not valid any more. */
export type Credential = (fresh: boolean) => Promise<Record<string, string>>;

/** Requests to an agent or a server, repeated where that is safe. */
export class Connection {
  /** The instance of the agent that answered last; empty if none has. A restarted agent is another one. */
  instance = "";

  constructor(
    /** Address without a slash at its end. */
    public base: string,
    private readonly credential: Credential,
    /** Milliseconds for which a failed request is tried again. */
    readonly retryMs: number,
  ) {}

  /** The JSON value of the answer; undefined for an empty one. */
  json<T>(request: Request): Promise<T> {
    return this.exchange(request, async (response) => {
      const text = await response.text();
      return (text === "" ? undefined : JSON.parse(text)) as T;
    });
  }

  /** Sends a request, and reads its answer as a part of the attempt. */
  async exchange<T>(request: Request, read: (response: Response) => Promise<T>): Promise<T> {
    const retries = new Retries(this.retryMs, request.signal);
    const until = Date.now() + (request.wholeMs ?? Infinity);
    for (;;) {
      const deadline = new Deadline(request.signal);
      try {
        deadline.within(Math.min(request.attemptMs ?? request.wholeMs ?? ATTEMPT_MS, until - Date.now()));
        return await read(await this.send(request, deadline.signal, retries.failed));
      } catch (error) {
        if (deadline.expired && Date.now() >= until) {
          throw new SkiffError("timeout", `${nameOf(request)} took longer than ${request.wholeMs} ms`);
        }
        const work = request.repeat ? nameOf(request) : `${nameOf(request)} may have been carried out`;
        await retries.after(error, work, request.repeat);
      } finally {
        deadline.close();
      }
    }
  }

  /** The pieces of one answer as they arrive, without retries. `opened` is called when the answer has begun. */
  async *pieces(request: Request, opened?: (response: Response) => void): AsyncGenerator<Uint8Array> {
    const deadline = new Deadline(request.signal);
    try {
      deadline.within(request.attemptMs ?? ATTEMPT_MS);
      const response = await this.send(request, deadline.signal, false);
      opened?.(response);
      if (!response.body) return;
      const reader = response.body.getReader();
      for (;;) {
        deadline.within(QUIET_MS);
        const { done, value } = await reader.read();
        if (done) return;
        deadline.pause();
        yield value;
      }
    } finally {
      deadline.abort();
    }
  }

  /** The lines of one answer as they arrive, without retries. A last line that was cut is left out. */
  async *lines(request: Request, opened?: () => void): AsyncGenerator<string> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const piece of this.pieces(request, opened)) {
      const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
      rest = lines.pop()!;
      yield* lines;
    }
  }

  /** The answer to a request to the application on a port; nothing is repeated and no status is an error. */
  async plain(path: string, init: RequestInit, ms: number, credentialOf: Credential): Promise<Response> {
    const headers = new Headers(init.headers);
    const deadline = new Deadline(init.signal ?? undefined);
    deadline.within(ms);
    for (const [name, value] of Object.entries(await credentialOf(false))) headers.set(name, value);
    try {
      return await fetch(this.base + path, { redirect: "manual", ...init, headers, signal: deadline.signal });
    } catch (error) {
      init.signal?.throwIfAborted();
      const work = `${init.method ?? "GET"} ${path}`;
      throw deadline.expired ? new SkiffError("timeout", `${work}: no answer in time`) : asSkiffError(error, work);
    } finally {
      deadline.pause(); // the signal of the caller still ends the body
    }
  }

  private async send(request: Request, signal: AbortSignal, repeated: boolean): Promise<Response> {
    const credential = await this.credential(false);
    let response = await this.once(request, signal, repeated, credential);
    if (response.status === 401 && request.repeat) {
      const renewed = await this.credential(true);
      if (JSON.stringify(renewed) !== JSON.stringify(credential)) {
        await response.body?.cancel();
        response = await this.once(request, signal, repeated, renewed);
      }
    }
    this.instance = response.headers.get("X-Skiff-Instance") ?? this.instance;
    if (!response.ok) throw await problemOf(response);
    return response;
  }

  private async once(
    request: Request,
    signal: AbortSignal,
    repeated: boolean,
    credential: Record<string, string>,
  ): Promise<Response> {
    const headers: Record<string, string> = { ...request.headers, ...credential };
    const init: RequestInit & { duplex?: "half" } = { method: request.method, headers, signal, redirect: "error" };
    if (request.json !== undefined) {
      headers["Content-Type"] = "application/json";
      init.body = JSON.stringify(repeated && request.again ? request.again(request.json) : request.json);
    } else if (request.body) {
      headers["Content-Type"] ??= "application/octet-stream";
      init.body = request.body() as BodyInit;
      if (init.body instanceof ReadableStream) init.duplex = "half";
    }
    return fetch(this.base + request.path + queryOf(request.query), init);
  }
}

function nameOf(request: Request): string {
  return `${request.method} ${request.path}`;
}

function queryOf(query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (Array.isArray(value)) for (const one of value) parameters.append(name, one);
    else if (value !== undefined) parameters.append(name, String(value));
  }
  const text = parameters.toString();
  return text && `?${text}`;
}
