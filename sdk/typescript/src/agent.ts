import { Connection } from "./connection.js";
import { milliseconds, optionalMilliseconds } from "./durations.js";
import { SkiffError } from "./errors.js";
import type { Host } from "./host.js";
import { newId } from "./ids.js";
import { type CreateOptions, type Place, type PlaceOptions, refuse, type SandboxDetails } from "./options.js";
import type { components } from "./schemas.js";

type Schemas = components["schemas"];
type Agent = Extract<Place, { kind: "agent" }>;

const ONLY_OF_SERVERS =
  "an agent is one sandbox, and has no others: this needs a server (`skiff serve`) or the program skiff";

/** A new session with a directory of its own, below the root of the agent. */
export async function createAtAgent(place: Agent, options: CreateOptions): Promise<Host> {
  refuse(options, ["template", "ttl", "onEnd", "network", "egress", "image", "flags"], ONLY_OF_SERVERS);
  const id = options.name ?? newId("box");
  const host = new AgentHost(place, id, options, true);
  const json: Schemas["SessionRequest"] = { root: id, env: options.env ?? {}, labels: options.labels ?? {} };
  const idle = optionalMilliseconds(options.idleTtl);
  if (idle !== undefined) json.idle_timeout_ms = idle;
  if (options.name !== undefined && !options.getOrCreate) {
    // A POST refuses a name that is taken. Its answer may be lost, so it is not repeated.
    const request = {
      method: "POST",
      path: "/v1/sessions",
      json: { ...json, id },
      repeat: false,
      signal: options.signal,
    };
    await host.connection.json<Schemas["Session"]>(request);
  } else {
    options.signal?.throwIfAborted();
    const request = { method: "PUT", path: host.path, json, repeat: true };
    const status = await host.connection.exchange(request, async (response) => response.status);
    // A repeated request finds what the first one made. A name of this program's own is always new.
    host.isNew = status === 201 || options.name === undefined;
    if (options.signal?.aborted) {
      if (host.isNew) await host.remove();
      throw options.signal.reason;
    }
  }
  return host;
}

/** The agent's session `default`, or another one. Throws `session_not_found`. */
export async function connectToAgent(
  place: Agent,
  id: string | undefined,
  options: PlaceOptions & { signal?: AbortSignal },
): Promise<Host> {
  const host = new AgentHost(place, id ?? "default", options, false);
  await host.details(options.signal);
  return host;
}

class AgentHost implements Host {
  readonly connection: Connection;

  constructor(
    private readonly place: Agent,
    readonly id: string,
    options: PlaceOptions,
    public isNew: boolean,
  ) {
    const credential = async (): Promise<Record<string, string>> =>
      place.token ? { Authorization: `Bearer ${place.token}` } : {};
    this.connection = new Connection(place.url, credential, milliseconds(options.retryFor ?? "30s"));
  }

  get sessionId(): string {
    return this.id;
  }

  get path(): string {
    return `/v1/sessions/${encodeURIComponent(this.id)}`;
  }

  readonly portCredential = async (): Promise<Record<string, string>> =>
    this.place.token ? { "X-Skiff-Token": this.place.token } : {};

  async details(signal?: AbortSignal): Promise<SandboxDetails> {
    const { id, labels, created_at } = await this.show(signal);
    return { id, state: "running", reason: "", labels, createdAt: new Date(created_at), expiresAt: undefined };
  }

  async remove(signal?: AbortSignal): Promise<void> {
    try {
      // `create` gives a session a directory of its name; another directory may be that of others, too.
      const { root } = await this.show(signal);
      const query = { purge: root.endsWith(`/${this.id}`) };
      await this.connection.json({ method: "DELETE", path: this.path, query, repeat: true, signal });
    } catch (error) {
      if (!(error instanceof SkiffError && error.code === "session_not_found")) throw error;
    }
  }

  extend(): Promise<void> {
    return unsupported("extend");
  }

  stop(): Promise<void> {
    return unsupported("stop");
  }

  preview(): Promise<string> {
    return unsupported("preview", "; `fetch` reaches a port with the token");
  }

  close(): void {}

  private show(signal: AbortSignal | undefined): Promise<Schemas["Session"]> {
    return this.connection.json({ method: "GET", path: this.path, repeat: true, signal });
  }
}

async function unsupported(name: string, more = ""): Promise<never> {
  throw new SkiffError("not_supported", `${name}: ${ONLY_OF_SERVERS}${more}`);
}
