import type { Connection } from "./connection.js";
import { SkiffError } from "./errors.js";
import type { components } from "./schemas.js";
import { type Event, exitOf, Output } from "./results.js";
import { Retries } from "./retries.js";

type WireEvent = components["schemas"]["Event"];

/** How the output of a command is read. */
export interface FollowOptions {
  /** Offset to begin at, in bytes of stdout and stderr together. Default 0. */
  offset?: number;
  /**
   * True (default): the command waits for this reader, as for a pipe. The credential needs the scope `exec`. False:
   * it never waits, and a slow reader gets a Gap.
   */
  lossless?: boolean;
  signal?: AbortSignal;
}

/**
 * The events of a command until its exit. A connection that breaks is replaced by another one, which goes on at the
 * next byte.
 */
export async function* follow(
  connection: Connection,
  command: string,
  options: FollowOptions = {},
): AsyncGenerator<Event> {
  const path = `${command}/output`;
  let from = options.offset ?? 0;
  const retries = new Retries(connection.retryMs, options.signal);
  for (;;) {
    try {
      const query = { follow: true, lossless: options.lossless ?? true, from };
      const request = { method: "GET", path, query, repeat: true, signal: options.signal };
      for await (const line of connection.lines(request, () => retries.opened())) {
        retries.succeeded();
        const event = eventOf(JSON.parse(line) as WireEvent);
        if (!event) continue;
        if (event.type !== "exit") from = event.next;
        yield event;
        if (event.type === "exit") return;
      }
      throw new Error("the stream ended before the command");
    } catch (error) {
      await retries.after(error, `GET ${path} from ${from}`);
    }
  }
}

/** Undefined for what is not for the reader: keep-alives, and events that are newer than this package. */
function eventOf(wire: WireEvent): Event | undefined {
  switch (wire.type) {
    case "output":
      return new Output(wire);
    case "gap":
      return { type: "gap", offset: wire.from!, next: wire.to! };
    case "exit":
      return exitOf(wire);
    case "error":
      // The token has expired: the next request has a new one, or is refused.
      if (wire.code === "unauthenticated") throw new Error("the token has expired");
      throw new SkiffError(wire.code ?? "internal", wire.detail ?? "the stream failed", { field: wire.field });
    default:
      return undefined;
  }
}
