import type { PlaceOptions, SandboxDetails } from "./options.js";
import { Retries } from "./retries.js";
import type { components } from "./schemas.js";
import { detailsOf, type Server, serverConnection } from "./server.js";

type Wire = components["schemas"]["Sandbox"];

/** What `GET /v1/events` sends. */
interface WireEvent {
  type: string;
  cursor?: string;
  items?: Wire[];
  more?: boolean;
  sandbox?: Wire;
  detail?: string;
}

/** A change of the list of sandboxes. `Sandbox.watch({ cursor })` goes on behind it. */
export type SandboxEvent = { readonly cursor: string } & (
  | { readonly type: "snapshot"; readonly sandboxes: SandboxDetails[] }
  /** With the sandbox as it is now, or as it was last. */
  | { readonly type: "added" | "changed" | "removed"; readonly sandbox: SandboxDetails }
  /** Events were missed, and a snapshot follows. */
  | { readonly type: "gap" }
  /** The server cannot read the list now. */
  | { readonly type: "unavailable"; readonly detail: string }
  | { readonly type: "available" }
);

export interface SandboxWatchOptions extends PlaceOptions {
  /** Only sandboxes of this owner, within the tenant. */
  owner?: string;
  /** Go on behind this event. */
  cursor?: string;
  signal?: AbortSignal;
}

/**
 * The sandboxes of a server and then each change. A connection that breaks is replaced by another one, which goes on
 * behind the last event.
 */
export async function* watchAtServer(place: Server, options: SandboxWatchOptions): AsyncGenerator<SandboxEvent> {
  const connection = serverConnection(place, "", options);
  const retries = new Retries(connection.retryMs, options.signal);
  let cursor = options.cursor ?? "";
  for (;;) {
    let coming: SandboxDetails[] = [];
    try {
      const headers: Record<string, string> = { Accept: "text/event-stream" };
      if (cursor) headers["Last-Event-ID"] = cursor;
      const query = { owner: options.owner };
      const request = { method: "GET", path: "/v1/events", query, headers, repeat: true, signal: options.signal };
      for await (const line of connection.lines(request, () => retries.opened())) {
        retries.succeeded();
        if (!line.startsWith("data: ")) continue;
        const wire = JSON.parse(line.slice(6)) as WireEvent;
        // The next connection says it again if it is about the key; a server that stops has a successor.
        if (wire.type === "error") throw new Error(wire.detail);
        cursor = wire.cursor ?? cursor;
        if (wire.type === "snapshot") coming.push(...wire.items!.map(detailsOf));
        const event = wire.more ? undefined : eventOf(wire, cursor, coming);
        if (wire.type === "snapshot" && event) coming = [];
        if (event) yield event;
      }
      throw new Error("the stream ended");
    } catch (error) {
      await retries.after(error, "GET /v1/events");
    }
  }
}

/** Undefined for what is newer than this package. */
function eventOf(wire: WireEvent, cursor: string, sandboxes: SandboxDetails[]): SandboxEvent | undefined {
  switch (wire.type) {
    case "snapshot":
      return { type: wire.type, cursor, sandboxes };
    case "added":
    case "changed":
    case "removed":
      return { type: wire.type, cursor, sandbox: detailsOf(wire.sandbox!) };
    case "unavailable":
      return { type: wire.type, cursor, detail: wire.detail ?? "" };
    case "gap":
    case "available":
      return { type: wire.type, cursor };
    default:
      return undefined;
  }
}
