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
import type { components } from "./schemas.js";

type Schemas = components["schemas"];
export type Server = Extract<Place, { kind: "server" }>;

const AGENT_PORT = 7070;
const WAIT_MS = 20_000;
const UP_MS = 300_000;

export function serverConnection(place: Server, path: string, options: PlaceOptions): Connection {
  const credential = async (): Promise<Record<string, string>> => ({ "X-API-Key": place.apiKey });
  return new Connection(place.url + path, credential, milliseconds(options.retryFor ?? "30s"));
}

/**
 * `POST /v1/sandboxes`, then waits until the sandbox is up. A creation that fails, takes too long or is aborted is
 * undone.
 */
export async function createAtServer(place: Server, options: CreateOptions): Promise<Host> {
  refuse(options, ["image", "flags"], "the template of the server decides it: use `template`");
  const server = serverConnection(place, "", options);
  const until = Date.now() + milliseconds(options.timeout ?? "5m");
  const key = newId("create");
  const json = requestOf(options);
  const headers = { "Idempotency-Key": key };
  options.signal?.throwIfAborted();
  // Not ended by the signal: the answer comes at once, and names what has to be undone.
  const request = { method: "POST", path: "/v1/sandboxes", json, headers, repeat: true };
  const [made, status] = await server.exchange(request, async (response) => {
    return [(await response.json()) as Schemas["Sandbox"], response.status] as const;
  });
  const host = new ServerHost(place, made.id, options);
  // A repeated request finds what the first one made. Without getOrCreate nothing else is found.
  host.isNew = status !== 200 || !options.getOrCreate;
  try {
    await host.untilUp(until, options.signal);
    return host;
  } catch (error) {
    await server
      .json({ method: "DELETE", path: host.path, query: { grace_ms: 0 }, headers, repeat: true })
      .catch(() => undefined);
    throw error;
  }
}

function requestOf(options: CreateOptions): Schemas["CreateSandbox"] {
  const request: Schemas["CreateSandbox"] = { wait: false, env: options.env ?? {}, labels: options.labels ?? {} };
  if (options.name !== undefined) request.name = options.name;
  if (options.getOrCreate) request.get_or_create = true;
  if (options.template !== undefined) request.template = options.template;
  if (options.onEnd) request.on_end = options.onEnd;
  if (options.network) request.network = options.network;
  if (options.egress) request.egress = options.egress;
  const [ttl, idle] = [optionalMilliseconds(options.ttl), optionalMilliseconds(options.idleTtl)];
  if (ttl !== undefined) request.ttl_ms = ttl;
  if (idle !== undefined) request.idle_ttl_ms = idle;
  return request;
}

/** A sandbox that is there; a stopped one is started. Throws `sandbox_not_found`. */
export async function connectToServer(place: Server, id: string, options: ConnectOptions): Promise<Host> {
  const host = new ServerHost(place, id, options);
  const { state } = await host.details(options.signal);
  if (state === "stopped" && options.start !== false) await host.start(options.signal);
  await host.untilUp(Date.now() + UP_MS, options.signal);
  return host;
}

/** `GET /v1/sandboxes`, all pages. */
export async function listAtServer(
  place: Server,
  labels: Record<string, string>,
  options: PlaceOptions & { signal?: AbortSignal },
) {
  const server = serverConnection(place, "", options);
  const all: SandboxDetails[] = [];
  let cursor: string | undefined;
  do {
    const query = { label: Object.entries(labels).map(([name, value]) => `${name}=${value}`), cursor };
    const request = { method: "GET", path: "/v1/sandboxes", query, repeat: true, signal: options.signal };
    const page = await server.json<Schemas["SandboxList"]>(request);
    all.push(...page.items.map(detailsOf));
    cursor = page.next || undefined;
  } while (cursor !== undefined);
  return all;
}

export function detailsOf(wire: Schemas["Sandbox"]): SandboxDetails {
  const expiresAt = wire.expires_at === undefined ? undefined : new Date(wire.expires_at);
  const { id, state, reason, labels } = wire;
  return { id, state, reason, labels, createdAt: new Date(wire.created_at), expiresAt };
}

class ServerHost implements Host {
  readonly connection: Connection;
  readonly sessionId = "default";
  isNew = false;
  private readonly server: Connection;

  constructor(
    private readonly place: Server,
    readonly id: string,
    options: PlaceOptions,
  ) {
    this.server = serverConnection(place, "", options);
    this.connection = serverConnection(place, `/s/${encodeURIComponent(id)}/${AGENT_PORT}`, options);
  }

  get path(): string {
    return `/v1/sandboxes/${encodeURIComponent(this.id)}`;
  }

  readonly portCredential = async (): Promise<Record<string, string>> => ({ "X-API-Key": this.place.apiKey });

  async untilUp(until: number, signal: AbortSignal | undefined): Promise<void> {
    for (;;) {
      const left = until - Date.now();
      const query = { wait: "ready", timeout_ms: Math.max(0, Math.min(left, WAIT_MS)) };
      const { state, reason } = await this.server.json<Schemas["Sandbox"]>({
        method: "GET",
        path: this.path,
        query,
        repeat: true,
        signal,
      });
      if (state === "running") return;
      if (state !== "creating") throw new SkiffError("sandbox_failed", `sandbox ${this.id} is ${state}: ${reason}`);
      if (left <= 0) throw new SkiffError("timeout", `sandbox ${this.id} is not up yet`);
    }
  }

  async details(signal?: AbortSignal): Promise<SandboxDetails> {
    return detailsOf(
      await this.server.json<Schemas["Sandbox"]>({ method: "GET", path: this.path, repeat: true, signal }),
    );
  }

  async remove(signal?: AbortSignal): Promise<void> {
    try {
      await this.server.json({ method: "DELETE", path: this.path, repeat: true, signal });
    } catch (error) {
      if (!(error instanceof SkiffError && error.code === "sandbox_not_found")) throw error;
    }
  }

  async extend(ttlMs: number, signal?: AbortSignal): Promise<void> {
    const json: Schemas["ExtendSandbox"] = { ttl_ms: ttlMs };
    await this.server.json({ method: "POST", path: `${this.path}/extend`, json, repeat: true, signal });
  }

  async stop(signal?: AbortSignal): Promise<void> {
    await this.server.json({ method: "POST", path: `${this.path}/stop`, json: {}, repeat: true, signal });
  }

  async start(signal?: AbortSignal): Promise<void> {
    await this.server.json({ method: "POST", path: `${this.path}/start`, repeat: true, signal });
  }

  async preview(port: number, ttlMs: number | undefined, signal?: AbortSignal): Promise<string> {
    const json: Schemas["MakePreview"] = { port, ...(ttlMs !== undefined && { ttl_ms: ttlMs }) };
    const made = await this.server.json<Schemas["Preview"]>({
      method: "POST",
      path: `${this.path}/previews`,
      json,
      repeat: true,
      signal,
    });
    return made.url;
  }

  close(): void {}
}
