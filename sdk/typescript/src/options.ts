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
   * Without a `url`: the driver of the program `skiff`, for example "local" (processes on this machine, not isolated)
   * or "pod".
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
  /** No network. Needs a cluster. */
  network?: "deny";
  /** Container image, with the program `skiff` and a cluster. */
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
  | { kind: "launcher"; driver: string; skiff: string | undefined };

/** Reads arguments first, then variables. Throws `not_configured` if neither says where sandboxes are. */
export function placeOf(options: PlaceOptions): Place {
  const url = options.url ?? variable("SKIFF_URL");
  const driver = options.driver ?? variable("SKIFF_DRIVER");
  if (options.driver === undefined && url) {
    if (driver && !["auto", "direct", "serve"].includes(driver)) {
      throw new SkiffError(
        "not_configured",
        `SKIFF_DRIVER=${driver} and SKIFF_URL are two answers to one question: unset one of them`,
      );
    }
    const base = url.replace(/\/+$/, "");
    const apiKey = options.apiKey ?? (options.token === undefined ? variable("SKIFF_API_KEY") : undefined);
    const token = options.token ?? (options.apiKey === undefined ? variable("SKIFF_TOKEN") : undefined);
    if (apiKey && token)
      throw new SkiffError(
        "not_configured",
        "a token (of an agent) and an API key (of a server) are given: which of them?",
      );
    return apiKey ? { kind: "server", url: base, apiKey } : { kind: "agent", url: base, token };
  }
  if (driver) return { kind: "launcher", driver, skiff: options.skiff ?? variable("SKIFF") };
  throw new SkiffError(
    "not_configured",
    "set SKIFF_URL with SKIFF_TOKEN (an agent) or SKIFF_API_KEY (a server), or choose a driver of the program skiff: " +
      "SKIFF_DRIVER=box makes sandboxes on this Linux machine",
  );
}

/** A variable of the environment, where there is one: not in browsers, and in Deno only with permission. */
function variable(name: string): string | undefined {
  try {
    return (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env?.[name] || undefined;
  } catch {
    return undefined;
  }
}
