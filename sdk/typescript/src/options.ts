import type { Duration } from "./durations.js";
import { SkiffError } from "./errors.js";

/**
 * Where sandboxes are. What is absent comes from the variables SKIFF_URL, SKIFF_TOKEN, SKIFF_API_KEY and
 * SKIFF_DRIVER.
 */
export interface PlaceOptions {
  /** Address of an agent (with `token`) or of a `skiff serve` (with `apiKey`). */
  url?: string;
  /** A token of the agent at `url`. */
  token?: string;
  /** An API key of the server at `url`. */
  apiKey?: string;
  /**
   * In place of an address: the driver of the program `skiff`, for example "box", "docker", "pod" or "local"
   * (processes on this machine, not isolated). By default the program chooses.
   */
  driver?: string;
  /**
   * The program `skiff`; by default that of the variable SKIFF, else the one that npm has installed with this package,
   * else `skiff` on PATH.
   */
  skiff?: string;
  /** How long a request is tried again when nobody answers; default "30s". */
  retryFor?: Duration;
}

export interface CreateOptions extends PlaceOptions {
  /** Name of the new sandbox, which becomes its id. By default a new one. */
  name?: string;
  /** Use the sandbox of this name if there is one. */
  getOrCreate?: boolean;
  /** Name of a template of the server, or of a SandboxTemplate with the driver `claim`. */
  template?: string;
  /** Variables of all commands. */
  env?: Record<string, string>;
  labels?: Record<string, string>;
  /** The sandbox ends by itself after this time: milliseconds, or "1h", "7d". By default it has no end. */
  ttl?: Duration;
  /** The sandbox ends by itself after this time without use. */
  idleTtl?: Duration;
  /** At the end of the lease: remove the sandbox (default), or stop it and keep its files. On a server. */
  onEnd?: "remove" | "stop";
  /** No network. An agent, and the driver `local`, can't. */
  network?: "deny";
  /** Names that it may reach, and nothing else: "pypi.org", "*.example.com", "@npm". An agent can't. */
  egress?: string[];
  /** Container image, with the program `skiff`: in a cluster, or with docker or podman on this machine. */
  image?: string;
  /** Further flags of `skiff up`. */
  flags?: string[];
  /** How long the creation may take; default "5m". After that it is undone, and `timeout` is thrown. */
  timeout?: Duration;
  /** Ends and undoes the creation. */
  signal?: AbortSignal;
}

export interface ConnectOptions extends PlaceOptions {
  /** Start the sandbox if it is stopped; default true. */
  start?: boolean;
  signal?: AbortSignal;
}

export interface SandboxDetails {
  readonly id: string;
  readonly state: "creating" | "running" | "stopped" | "ended" | "failed";
  /** Why it ended or failed; otherwise empty. */
  readonly reason: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly createdAt: Date | undefined;
  /** The end of its lease, if it has one. */
  readonly expiresAt: Date | undefined;
}

/** Throws `not_supported` if one of these options is given. `what` says where, and what to do. */
export function refuse(options: CreateOptions, names: (keyof CreateOptions)[], what: string): void {
  for (const name of names) {
    if (options[name] !== undefined) throw new SkiffError("not_supported", `${name}: ${what}`, { field: name });
  }
}

/** An agent, a server, or the program `skiff`. */
export type Place =
  | { kind: "agent"; url: string; token: string | undefined }
  | { kind: "server"; url: string; apiKey: string }
  | { kind: "launcher"; driver: string | undefined; skiff: string | undefined };

/**
 * Reads arguments first, then variables. Throws `not_configured` if they contradict each other. SKIFF_DRIVER beside
 * SKIFF_URL is two answers to one question, as for the program; `direct` and `serve` say the same as the URL.
 */
export function placeOf(options: PlaceOptions): Place {
  const { driver } = options;
  const isAddressed = Boolean(options.url || options.token || options.apiKey);
  if (driver && isAddressed) throw unclear("give either driver, or url with token or apiKey");
  const launcher = (named: string | undefined): Place => {
    if (!startsPrograms()) throw startsNone();
    return { kind: "launcher", driver: named, skiff: options.skiff ?? variable("SKIFF") };
  };
  if (driver) return launcher(driver);
  const named = isAddressed ? undefined : variable("SKIFF_DRIVER");
  if (named && !["auto", "direct", "serve"].includes(named)) {
    if (variable("SKIFF_URL")) throw unclear(`SKIFF_DRIVER=${named} and SKIFF_URL are both set: unset one of them`);
    return launcher(named);
  }
  const url = (options.url || variable("SKIFF_URL"))?.replace(/\/+$/, "");
  const isNamed = Boolean(options.token || options.apiKey);
  const token = isNamed ? options.token : variable("SKIFF_TOKEN");
  const apiKey = isNamed ? options.apiKey : variable("SKIFF_API_KEY");
  if (!url) {
    if (token || apiKey) throw unclear("a token or an API key is set, and no address: set SKIFF_URL, or give url");
    return launcher(undefined);
  }
  if (token && apiKey)
    throw unclear("there are a token (of an agent) and an API key (of a server): give one of them");
  return apiKey ? { kind: "server", url, apiKey } : { kind: "agent", url, token };
}

function unclear(detail: string): SkiffError {
  return new SkiffError("not_configured", detail);
}

/** The error of a browser, where there is no program `skiff`. */
export function startsNone(): SkiffError {
  return unclear("a browser cannot start the program skiff: give `url` with `token` or `apiKey`");
}

/** True in Node, Bun and Deno. */
function startsPrograms(): boolean {
  return Boolean((globalThis as { process?: { versions?: { node?: string } } }).process?.versions?.node);
}

/** A variable of the environment, where there is one: not in browsers, and in Deno only with permission. */
function variable(name: string): string | undefined {
  try {
    return (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env?.[name] || undefined;
  } catch {
    return undefined;
  }
}
