/** Sandboxes that the program `skiff` makes. Only Node, Bun and Deno load this module. */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import process from "node:process";
import { Connection } from "./connection.js";
import { milliseconds, optionalMilliseconds } from "./durations.js";
import { SkiffError } from "./errors.js";
import type { Host } from "./host.js";
import { newId } from "./ids.js";
import {
  type ConnectOptions,
  type CreateOptions,
  type Place,
  type PlaceOptions,
  refuse,
  type SandboxDetails,
} from "./options.js";
import { installedProgram, isMissing } from "./programs.js";

type Launcher = Extract<Place, { kind: "launcher" }>;
type Options = PlaceOptions & { signal?: AbortSignal };

/** How long a token is valid, and when a new one is taken. */
const TOKEN_MS = 3_600_000;
const RENEW_MS = 600_000;
const STOP_MS = 300_000;
const FORWARD_MS = 60_000;
const AGENT_PORT = 7070;

/** A sandbox as `skiff -o json` prints it. */
interface Shown {
  id: string;
  name: string;
  state: SandboxDetails["state"];
  reason: string;
  labels: Record<string, string>;
  created_at?: string;
  expires_at?: string;
  /** How skiff reaches the agent: "local", "in-cluster", ... */
  reached?: { by: string };
  driver: string;
  /** False if `--get-or-create` found it. */
  new?: boolean;
}

const notIsolated =
  "skiff has chosen the driver local, which does not isolate: commands run on this machine, as you. " +
  'Give driver: "local" if you mean that';

/** `skiff up`. When it is aborted, skiff undoes it. */
export async function createWithSkiff(place: Launcher, options: CreateOptions): Promise<Host> {
  refuse(options, ["onEnd"], "only a server knows it");
  if (options.egress?.length === 0) refuse(options, ["egress"], 'without a rule give network: "deny" to the program skiff');
  const name = options.name ?? newId("box");
  const flags = [name, ...(options.flags ?? [])];
  const add = (flag: string, value: string | number | undefined) =>
    value !== undefined && flags.push(flag, String(value));
  const timeout = milliseconds(options.timeout ?? "5m");
  add("--wait", `${timeout}ms`);
  if (options.getOrCreate) flags.push("--get-or-create");
  for (const [key, value] of Object.entries(options.env ?? {})) add("--env", `${key}=${value}`);
  for (const [key, value] of Object.entries(options.labels ?? {})) add("--label", `${key}=${value}`);
  const time = (ms: number | undefined) => (ms === undefined ? undefined : `${ms}ms`);
  add("--ttl", time(optionalMilliseconds(options.ttl)));
  add("--idle-ttl", time(optionalMilliseconds(options.idleTtl)));
  add("--template", options.template);
  add("--network", options.network);
  for (const rule of options.egress ?? []) add("--egress", rule);
  add("--image", options.image);
  const made = await skiff<Shown>(place, ["up", ...flags], { ms: timeout + STOP_MS, signal: options.signal });
  if (made.driver === "local" && place.driver !== "local") process.emitWarning(notIsolated);
  const host = new LauncherHost(place, name, options);
  host.isNew = made.new ?? true;
  await host.renew(options.signal);
  return host;
}

/** A sandbox that is there; a stopped one is started. `skiff token` says where its agent is. */
export async function connectWithSkiff(place: Launcher, name: string, options: ConnectOptions): Promise<Host> {
  const host = new LauncherHost(place, name, options);
  const { state } = await host.details(options.signal);
  if (state === "stopped" && options.start !== false) await host.start(options.signal);
  await host.renew(options.signal);
  return host;
}

/** `skiff ps`. */
export async function listWithSkiff(
  place: Launcher,
  labels: Record<string, string>,
  options: Options,
): Promise<SandboxDetails[]> {
  const flags = Object.entries(labels).flatMap(([name, value]) => ["--label", `${name}=${value}`]);
  const all = await skiff<{ items: Shown[] }>(place, ["ps", ...flags], { ms: STOP_MS, signal: options.signal });
  return all.items.map(detailsOf);
}

class LauncherHost implements Host {
  readonly sessionId = "default";
  isNew = false;
  readonly connection: Connection;
  private readonly forwards = new Map<number, Forward>();
  private token = "";
  private until = 0;
  private renewing: Promise<void> | undefined;

  constructor(
    private readonly place: Launcher,
    readonly id: string,
    options: Options,
  ) {
    const credential = async (fresh: boolean): Promise<Record<string, string>> => ({
      Authorization: `Bearer ${await this.valid(fresh)}`,
    });
    this.connection = new Connection("", credential, milliseconds(options.retryFor ?? "30s"));
  }

  readonly portCredential = async (fresh: boolean): Promise<Record<string, string>> => ({
    "X-Skiff-Token": await this.valid(fresh),
  });

  /** Asks skiff for the address of the agent, and for a token. */
  async renew(signal?: AbortSignal): Promise<void> {
    const scopes = ["read", "exec", "ports"].flatMap((scope) => ["--scope", scope]);
    const words = ["token", this.id, ...scopes, "--ttl", `${TOKEN_MS}ms`];
    const made = await skiff<{ token: string; url: string }>(this.place, words, { ms: STOP_MS, signal });
    const { reached } = await this.skiff<Shown>("describe", signal);
    const isNear = ["local", "in-cluster", "direct"].includes(reached?.by ?? "");
    this.connection.base = isNear ? made.url.replace(/\/+$/, "") : await this.forwarded(AGENT_PORT);
    this.token = made.token;
    this.until = Date.now() + TOKEN_MS - RENEW_MS;
  }

  async details(signal?: AbortSignal): Promise<SandboxDetails> {
    return detailsOf(await this.skiff<Shown>("describe", signal));
  }

  async remove(signal?: AbortSignal): Promise<void> {
    this.close();
    await run(this.place, ["rm", this.id, "--ignore-not-found", "-q"], { ms: STOP_MS, signal });
  }

  async extend(ttlMs: number, signal?: AbortSignal): Promise<void> {
    await run(this.place, ["extend", this.id, "--ttl", `${ttlMs}ms`, "-q"], { ms: STOP_MS, signal });
  }

  async stop(signal?: AbortSignal): Promise<void> {
    this.close();
    await run(this.place, ["stop", this.id, "-q"], { ms: STOP_MS, signal });
  }

  async start(signal?: AbortSignal): Promise<void> {
    await run(this.place, ["start", this.id, "-q"], { ms: STOP_MS, signal });
  }

  async preview(port: number, ttlMs: number | undefined): Promise<string> {
    if (ttlMs !== undefined)
      throw new SkiffError("not_supported", "ttl: with the program skiff a link lasts until `close`", { field: "ttl" });
    return `${await this.forwarded(port)}/`;
  }

  close(): void {
    for (const one of this.forwards.values()) one.child.kill();
    this.forwards.clear();
  }

  /** The address on this machine that leads to a port of the sandbox. */
  private async forwarded(port: number): Promise<string> {
    const open = this.forwards.get(port);
    if (open && open.child.exitCode === null) return open.url;
    const made = await forward(this.place, this.id, port);
    this.forwards.set(port, made);
    return made.url;
  }

  private async valid(fresh: boolean): Promise<string> {
    if (fresh || Date.now() > this.until) {
      // Many requests may find at the same time that the token has expired.
      this.renewing ??= this.renew().finally(() => (this.renewing = undefined));
      await this.renewing;
    }
    return this.token;
  }

  private skiff<T>(command: string, signal: AbortSignal | undefined): Promise<T> {
    return skiff<T>(this.place, [command, this.id], { ms: STOP_MS, signal });
  }
}

function detailsOf(shown: Shown): SandboxDetails {
  const date = (text: string | undefined) => (text ? new Date(text) : undefined);
  const { name, state, reason, labels } = shown;
  return { id: name, state, reason, labels, createdAt: date(shown.created_at), expiresAt: date(shown.expires_at) };
}

/** A program `skiff forward`. */
interface Forward {
  child: ChildProcess;
  url: string;
}

/** Starts `skiff forward`, which prints the address of its port. It ends with this program. */
async function forward(place: Launcher, name: string, port: number): Promise<Forward> {
  const child = spawn(programOf(place), withDriver(place, ["forward", name, `:${port}`]), {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const end = () => child.kill();
  process.once("exit", end);
  child.once("exit", () => process.off("exit", end));
  const line = await new Promise<string>((resolve, reject) => {
    const failed = (why: string) => reject(new SkiffError("program_failed", `skiff forward ${name} :${port}: ${why}`));
    const timer = setTimeout(() => {
      child.kill();
      failed("it has not begun in time");
    }, FORWARD_MS);
    child.once("error", (error) => failed(error.message));
    child.once("exit", () => {
      clearTimeout(timer);
      failed("it has ended");
    });
    child.stdout.once("data", (bytes: Uint8Array) => {
      clearTimeout(timer);
      resolve(new TextDecoder().decode(bytes));
    });
  });
  // Neither keeps this program running.
  child.unref();
  (child.stdout.resume() as { unref?: () => void }).unref?.();
  return { child, url: `http://${line.split(" ")[0]}` };
}

interface RunOptions {
  /** Milliseconds after which skiff is ended. */
  ms: number;
  signal: AbortSignal | undefined;
}

async function skiff<T>(place: Launcher, words: string[], options: RunOptions): Promise<T> {
  return JSON.parse(await run(place, [words[0]!, "-o", "json", "-q", ...words.slice(1)], options)) as T;
}

/** The one that is named, else that of this package, else `skiff` on PATH. */
function programOf(place: Launcher): string {
  return place.skiff ?? installedProgram("skiff") ?? "skiff";
}

/** The words of a command with the driver that is named, if one is. */
function withDriver(place: Launcher, words: string[]): string[] {
  return place.driver ? [words[0]!, "--driver", place.driver, ...words.slice(1)] : words;
}

/** A sentence for people. */
function whyThereIsNone(place: Launcher): string {
  const why = place.skiff ? `there is no program ${place.skiff}` : `there is no skiff on PATH, and ${isMissing}`;
  return `${why}. Install skiff and name it in SKIFF, or set SKIFF_URL`;
}

/** The standard output of the program. Its message becomes the error, with the code that it names. */
function run(place: Launcher, words: string[], { ms, signal }: RunOptions): Promise<string> {
  const options = { timeout: ms, maxBuffer: 64 << 20, ...(signal && { signal }) };
  const command = withDriver(place, words);
  return new Promise((resolve, reject) => {
    execFile(programOf(place), command, options, (error, stdout, stderr) => {
      if (!error) return resolve(stdout);
      if (signal?.aborted) return reject(signal.reason);
      if (error.killed) return reject(new SkiffError("timeout", `skiff ${words[0]}: not within ${ms} ms`));
      const last = stderr.trim().split("\n").at(-1) ?? "";
      const told = failureOf(last);
      if (told) return reject(new SkiffError(told.code, told.detail, { field: told.field, cause: error }));
      const isThere = !("code" in error && String(error.code) === "ENOENT");
      const detail = isThere ? last.replace(/^skiff: /, "") || error.message : whyThereIsNone(place);
      reject(new SkiffError(/\[([a-z_]+)\]$/.exec(detail)?.[1] ?? "program_failed", detail, { cause: error }));
    });
  });
}

/** The error that skiff writes with `-o json`, as one line. */
function failureOf(line: string): { code: string; detail: string; field?: string } | undefined {
  try {
    const told: unknown = JSON.parse(line);
    const isOne = typeof told === "object" && told !== null && "code" in told && "detail" in told;
    return isOne ? (told as { code: string; detail: string; field?: string }) : undefined;
  } catch {
    return undefined;
  }
}
