#!/usr/bin/env node
// A client of skiffd in one file, with Node 22.18's own fetch and WebSocket; it is run as it stands, without a compiler.
const usage = `
  export SKIFF_URL=http://127.0.0.1:7070 SKIFF_TOKEN=...
  node skiff.ts run COMMAND              its output when it has ended; ends with its exit status
  node skiff.ts stream COMMAND           its output as it comes; a connection that is cut is taken up where it was
  node skiff.ts put LOCAL REMOTE         writes a file, all of it or nothing
  node skiff.ts get REMOTE LOCAL
  node skiff.ts edit REMOTE OLD NEW      replaces OLD, which must be there once; prints the diff
  node skiff.ts grep PATTERN [DIRECTORY] PATH:LINE:TEXT; ends with 1 if there is none
  node skiff.ts shell                    a terminal
`;

import { randomUUID } from "node:crypto";
import { createWriteStream, openAsBlob } from "node:fs";
import { constants } from "node:os";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** Text, or base64 under NAME_base64 where the bytes are not UTF-8. */
type Ended = { exit_code: number | null; signal: string | null };
type Result = Ended & { stdout: string; stdout_base64?: string; stderr: string; stderr_base64?: string };
type Match = { path: string; line_number: number; text?: string; text_base64?: string };
type Event =
  | { type: "started"; id: string; next?: undefined }
  | { type: "output"; stream: "stdout" | "stderr"; next: number; data?: string; data_base64?: string }
  | { type: "gap"; from: number; to: number; next?: undefined }
  | ({ type: "exit"; next?: undefined } & Ended);

/** What the agent answered: `code` is a stable word (`path_escapes_root`), the message is for people. */
class Refused extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, problem: { code?: string; title?: string; detail?: string }) {
    super(`${problem.detail ?? problem.title} [${problem.code ?? status}]`);
    this.status = status;
    this.code = problem.code ?? "";
  }
}

class Skiff {
  readonly url: string;
  readonly token: string;
  readonly base: string;
  constructor(url: string, token: string, session = "default") {
    this.url = url;
    this.token = token;
    this.base = `${url}/v1/sessions/${session}`;
  }

  /** One request: the answer, whose body has not been read yet. Throws Refused, or TypeError when nobody answers. */
  async open(method: string, url: string, body?: object): Promise<Response> {
    const type = body instanceof Blob ? "application/octet-stream" : "application/json";
    const headers = { Authorization: `Bearer ${this.token}`, ...(body && { "Content-Type": type }) };
    const answer = await fetch(url, { method, headers, body: body instanceof Blob ? body : JSON.stringify(body) });
    if (answer.ok) return answer;
    const text = await answer.text();
    const isProblem = answer.headers.get("Content-Type") === "application/problem+json";
    throw new Refused(answer.status, isProblem ? JSON.parse(text) : { title: text });
  }

  /** Waits until it has ended. It ends with the connection. */
  async run(command: string, fields: object = {}): Promise<Result> {
    const body = { command, on_disconnect: "kill", ...fields };
    return (await (await this.open("POST", `${this.base}/commands`, body)).json()) as Result;
  }

  /** Its events as they happen. The id is ours, so it is started once however often it is asked for, and whatever
   *  happens to the connection, its log is read on from behind the last event that came. */
  async *stream(command: string, fields: object = {}): AsyncGenerator<Event> {
    const id = `c-${randomUUID()}`;
    const log = `${this.base}/commands/${id}/output?follow=true&lossless=true`;
    let next = -1;
    for (let failures = 0; ; ) {
      try {
        const answer = next < 0
          ? await this.open("POST", `${this.base}/commands`, { id, command, mode: "stream", ...fields })
          : await this.open("GET", `${log}&from=${next}`);
        for await (const event of linesOf<Event>(answer)) {
          next = event.next ?? Math.max(next, 0);
          failures = 0;
          yield event;
          if (event.type === "exit") return;
        }
        throw new Error("the stream ended before the command did");
      } catch (error) {
        if (error instanceof Refused || failures >= 8) throw error;
      }
      await sleep(50 * 2 ** failures++);
    }
  }

  signal(id: string, signal: string): Promise<Response> {
    return this.open("POST", `${this.base}/commands/${id}/signal`, { signal });
  }

  file(path: string): string {
    return `${this.base}/files/${encodeURIComponent(path)}`; // with %2F even `../x` arrives as it is
  }

  async put(path: string, local: string): Promise<void> {
    await this.open("PUT", this.file(path), await openAsBlob(local));
  }

  async get(path: string): Promise<Readable> {
    return Readable.fromWeb((await this.open("GET", this.file(path))).body as never);
  }

  /** The change as a unified diff. */
  async edit(path: string, old: string, replacement: string): Promise<string> {
    const answer = await this.open("PATCH", this.file(path), { edits: [{ old, new: replacement }] });
    return ((await answer.json()) as { diff: string }).diff;
  }

  async *grep(pattern: string, path = "."): AsyncGenerator<Match> {
    const answer = await this.open("GET", `${this.base}/files:grep?${new URLSearchParams({ pattern, path })}`);
    for await (const found of linesOf<Match>(answer)) if ("line_number" in found) yield found;
  }

  /** The credential goes as a subprotocol, as browsers know no headers here. */
  shell(size: { cols: number; rows: number }): WebSocket {
    const credential = `skiff.bearer.${Buffer.from(this.token).toString("base64url")}`;
    const url = `${this.url.replace("http", "ws")}/v1/shell?cols=${size.cols}&rows=${size.rows}`;
    return Object.assign(new WebSocket(url, ["skiff.v1.json", credential]), { binaryType: "arraybuffer" as const });
  }
}

/** Whole lines of NDJSON: a last one that was cut is none. */
async function* linesOf<T>(answer: Response): AsyncGenerator<T> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const piece of answer.body!) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
    rest = lines.pop()!;
    for (const line of lines) yield JSON.parse(line) as T;
  }
}

const bytesOf = (text = "", base64?: string) => (base64 === undefined ? Buffer.from(text) : Buffer.from(base64, "base64"));
const status = ({ exit_code, signal }: Ended) => exit_code ?? 128 + constants.signals[signal as NodeJS.Signals];

/** What is typed goes to a shell, what it prints comes here, until it ends; its exit status. */
function terminal(client: Skiff): Promise<number> {
  const { stdin, stdout } = process;
  const size = () => ({ cols: stdout.columns || 80, rows: stdout.rows || 24 }); // a terminal may not know its size
  const socket = client.shell(size());
  return new Promise<number>((resolve, reject) => {
    socket.onopen = () => {
      if (stdin.isTTY) stdin.setRawMode(true);
      stdin.on("data", (typed) => socket.send(typed)).on("end", () => socket.send(Buffer.of(4))); // Ctrl-D
      stdout.on("resize", () => socket.send(JSON.stringify({ resize: size() })));
    };
    socket.onmessage = ({ data }) => stdout.write(Buffer.from(data));
    socket.onerror = (event) => reject(new Error(`no terminal: ${(event as ErrorEvent).message}`));
    socket.onclose = ({ code, reason }) =>
      reason.startsWith("exit_code ") ? resolve(Number(reason.slice(10))) : reject(new Error(`closed: ${reason || code}`));
  }).finally(() => {
    if (stdin.isTTY) stdin.setRawMode(false);
    stdin.destroy();
  });
}

async function main([what, ...given]: string[]): Promise<number> {
  if (what && !process.env.SKIFF_TOKEN) throw new Error("SKIFF_TOKEN is not set: `make run` prints the line that sets it");
  const client = new Skiff(process.env.SKIFF_URL ?? "http://127.0.0.1:7070", process.env.SKIFF_TOKEN ?? "");
  if (what === "run" && given.length === 1) {
    const result = await client.run(given[0]);
    process.stdout.write(bytesOf(result.stdout, result.stdout_base64));
    process.stderr.write(bytesOf(result.stderr, result.stderr_base64));
    return status(result);
  } else if (what === "stream" && given.length === 1) {
    for await (const event of client.stream(given[0])) {
      if (event.type === "started") process.on("SIGINT", () => client.signal(event.id, "SIGINT").catch(fail)); // Ctrl-C
      else if (event.type === "output") process[event.stream].write(bytesOf(event.data, event.data_base64));
      else if (event.type === "gap") process.stderr.write(`skiff: ${event.to - event.from} bytes were dropped\n`);
      else if (event.type === "exit") return status(event);
    }
  } else if (what === "put" && given.length === 2) await client.put(given[1], given[0]);
  else if (what === "get" && given.length === 2) await pipeline(await client.get(given[0]), createWriteStream(given[1]));
  else if (what === "edit" && given.length === 3) process.stdout.write(await client.edit(given[0], given[1], given[2]));
  else if (what === "grep" && (given.length === 1 || given.length === 2)) {
    let found = 1;
    for await (const { path, line_number, text, text_base64 } of client.grep(given[0], given[1])) {
      process.stdout.write(`${path}:${line_number}:${bytesOf(text, text_base64)}\n`);
      found = 0;
    }
    return found;
  } else if (what === "shell") return await terminal(client);
  else throw new Error(usage);
  return 0;
}

function fail(error: Error): void {
  console.error(`skiff: ${(error.cause as Error | undefined)?.message ?? error.message}`);
  process.exit(125); // the exit status of what is no command's own, as docker has it
}

main(process.argv.slice(2)).then((code) => (process.exitCode = code), fail);
