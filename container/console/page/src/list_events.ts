import { LIST_EVENTS, type Sandbox } from "./api";
import { eventStream } from "./event_stream";

/** What `GET /v1/events` tells; docs/serve-api.md. */
export type ListEvent = { cursor?: string } & (
  | { type: "snapshot"; items: Sandbox[]; more: boolean }
  | { type: "added" | "changed" | "removed"; sandbox: Sandbox }
  | { type: "gap" | "available" }
  | { type: "unavailable" | "error"; code: string; detail: string }
);

/** The events after the cursor, until the connection ends. */
export async function* listEvents(cursor: string, signal: AbortSignal, opened: () => void): AsyncGenerator<ListEvent> {
  for await (const told of eventStream<ListEvent>(LIST_EVENTS, signal, cursor ? { "Last-Event-ID": cursor } : {}, opened)) yield* told;
}

/** The list that the events tell of. */
export class ListedSandboxes {
  /** Of the last event. */
  cursor = "";
  private all = new Map<string, Sandbox>();
  private coming: Map<string, Sandbox> | undefined;

  /** Takes over an event. Returns the sandboxes by name; undefined if they are the same, or not all known yet. */
  take(told: ListEvent): Sandbox[] | undefined {
    if (told.cursor) this.cursor = told.cursor;
    if (told.type === "snapshot") {
      this.coming ??= new Map();
      for (const one of told.items) this.coming.set(one.id, one);
      if (told.more) return undefined;
      this.all = this.coming;
      this.coming = undefined;
    } else if (told.type === "removed") {
      this.all.delete(told.sandbox.id);
    } else if (told.type === "added" || told.type === "changed") {
      this.all.set(told.sandbox.id, told.sandbox);
    } else {
      return undefined;
    }
    return [...this.all.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
  }

  /** A snapshot that was cut begins again. */
  disconnected(): void {
    this.coming = undefined;
  }
}
