import { connectToAgent, createAtAgent } from "./agent.js";
import { type Duration, milliseconds, optionalMilliseconds } from "./durations.js";
import { SkiffError } from "./errors.js";
import type { Host } from "./host.js";
import { type SandboxEvent, type SandboxWatchOptions, watchAtServer } from "./listing.js";
import { type ConnectOptions, type CreateOptions, placeOf, type PlaceOptions, type SandboxDetails } from "./options.js";
import { connectToServer, createAtServer, listAtServer } from "./server.js";
import { Session } from "./session.js";

/**
 * A sandbox: commands, files, terminals and ports. Arguments or variables decide where it is:
 *
 * - `SKIFF_URL` with `SKIFF_API_KEY`: a server (`skiff serve`) makes it.
 * - `SKIFF_URL` with `SKIFF_TOKEN`: an agent (`skiffd`), which is one sandbox. `connect()` uses it as it is;
 *   `create()` makes a session with a directory of its own in it.
 * - without an address, in Node, Bun and Deno: the program `skiff` makes it, with the driver of `SKIFF_DRIVER`
 *   or the one that it chooses.
 */
export class Sandbox extends Session {
  private constructor(private readonly host: Host) {
    super(host.connection, host.sessionId);
  }

  /**
   * Creates a sandbox and waits until it answers. With `await using` it is removed at the end of the block, also
   * after an error. `POST /v1/sandboxes`, `PUT /v1/sessions/{sid}` or `skiff up`. Throws `not_configured`,
   * `sandbox_conflict` for a name that is taken, `sandbox_failed`, `too_many_sandboxes` with `retryAfter`, `timeout`,
   * `not_supported` for an option that is not possible there.
   */
  static async create(options: CreateOptions = {}): Promise<Sandbox> {
    const place = placeOf(options);
    if (place.kind === "agent") return new Sandbox(await createAtAgent(place, options));
    if (place.kind === "server") return new Sandbox(await createAtServer(place, options));
    return new Sandbox(await (await launcher()).createWithSkiff(place, options));
  }

  /**
   * A sandbox that is there; a stopped one is started. It is not removed at the end of an `await using`. At an agent
   * the id is that of a session, by default "default". Throws `sandbox_not_found`, `session_not_found`.
   */
  static async connect(id?: string, options: ConnectOptions = {}): Promise<Sandbox> {
    const place = placeOf(options);
    if (place.kind === "agent") return new Sandbox(await connectToAgent(place, id, options));
    if (id === undefined)
      throw new SkiffError("missing_field", "connect: the id of the sandbox is missing", { field: "id" });
    if (place.kind === "server") return new Sandbox(await connectToServer(place, id, options));
    return new Sandbox(await (await launcher()).connectWithSkiff(place, id, options));
  }

  /**
   * The sandboxes that have all of these labels. `GET /v1/sandboxes` or `skiff ps`. Throws `not_supported` at an
   * agent.
   */
  static async list(
    options: PlaceOptions & { labels?: Record<string, string>; signal?: AbortSignal } = {},
  ): Promise<SandboxDetails[]> {
    const place = placeOf(options);
    if (place.kind === "server") return listAtServer(place, options.labels ?? {}, options);
    if (place.kind === "launcher") return (await launcher()).listWithSkiff(place, options.labels ?? {}, options);
    throw new SkiffError("not_supported", "list: an agent is one sandbox, and has no others");
  }

  /**
   * The sandboxes of a server and then each change of their list, with `for await`. `GET /v1/events`. Throws
   * `not_supported` elsewhere, `unauthenticated` when the key has ended.
   */
  static watch(options: SandboxWatchOptions = {}): AsyncGenerator<SandboxEvent> {
    const place = placeOf(options);
    if (place.kind === "server") return watchAtServer(place, options);
    throw new SkiffError("not_supported", "watch: a server has a list of sandboxes: set SKIFF_URL and SKIFF_API_KEY");
  }

  /** `Sandbox.connect(id)` reaches it from anywhere. */
  get id(): string {
    return this.host.id;
  }

  /** Its state and its lease. `GET /v1/sandboxes/{id}`. */
  details(options: { signal?: AbortSignal } = {}): Promise<SandboxDetails> {
    return this.host.details(options.signal);
  }

  /** Renews its lease: it ends after this time from now. `POST /v1/sandboxes/{id}/extend`. */
  extend(ttl: Duration, options: { signal?: AbortSignal } = {}): Promise<void> {
    return this.host.extend(milliseconds(ttl), options.signal);
  }

  /** Ends its processes and keeps its files, until `connect` starts it again. `POST /v1/sandboxes/{id}/stop`. */
  stop(options: { signal?: AbortSignal } = {}): Promise<void> {
    return this.host.stop(options.signal);
  }

  /** Removes it with its processes and files. Does nothing if it is gone. `DELETE /v1/sandboxes/{id}`. */
  remove(options: { signal?: AbortSignal } = {}): Promise<void> {
    return this.host.remove(options.signal);
  }

  /**
   * A link that opens a port of the sandbox in a browser. At a server it is valid for `ttl` (default "1h"): `POST
   * /v1/sandboxes/{id}/previews`. With the program `skiff` it is valid on this machine, until `close`: `skiff
   * forward`. Throws `not_supported` at an agent, and at a server without `--domain`.
   */
  preview(port: number, options: { ttl?: Duration; signal?: AbortSignal } = {}): Promise<string> {
    return this.host.preview(port, optionalMilliseconds(options.ttl), options.signal);
  }

  /**
   * A request to the HTTP server on a port of the sandbox, also on loopback there. As the platform's `fetch`, without
   * redirects: any status is an answer. `timeout` (default "1m") ends the wait for its head. Needs the scope `ports`.
   * Not from pages of another origin than the agent's. `/v1/ports/{port}/{path}`.
   */
  fetch(port: number, path = "/", init: RequestInit & { timeout?: Duration } = {}): Promise<Response> {
    const { timeout = "1m", ...plain } = init;
    const below = `/v1/ports/${port}/${path.replace(/^\//, "")}`;
    return this.connection.plain(below, plain, milliseconds(timeout), this.host.portCredential);
  }

  /** Ends what this program holds open for it (links of `preview` with the program `skiff`). The sandbox stays. */
  close(): void {
    this.host.close();
  }

  /** Removes it if `create` made it (and did not find it, with `getOrCreate`), and closes it. */
  override async [Symbol.asyncDispose](): Promise<void> {
    if (this.host.isNew) await this.remove();
    this.close();
  }
}

/** A module of its own, which browsers never load: package.json names another one for them. */
function launcher(): Promise<typeof import("./launcher.js")> {
  return import("./launcher.js");
}
