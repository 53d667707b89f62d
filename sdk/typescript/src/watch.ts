import type { Connection } from "./connection.js";
import { type Duration, optionalMilliseconds } from "./durations.js";
import type { Change } from "./entries.js";
import { Retries } from "./retries.js";
import type { components } from "./schemas.js";
import { Deadline } from "./waits.js";

type WireEvent = components["schemas"]["WatchEvent"];

export interface WatchOptions {
  /** Watch the directories below, too. */
  recursive?: boolean;
  /** Go on behind this change. */
  cursor?: number;
  /** End without an error after this time: milliseconds, or "2s". */
  for?: Duration;
  signal?: AbortSignal;
}

/**
 * The changes below a directory, with `for await`. A connection that breaks is replaced by another one, which goes on
 * behind the last change.
 */
export class Watch implements AsyncIterable<Change> {
  private readonly changes: AsyncGenerator<Change>;
  private first: Promise<IteratorResult<Change>> | undefined;
  private watching!: () => void;
  private failed!: (error: unknown) => void;
  private readonly begun = new Promise<void>((resolve, reject) => {
    this.watching = resolve;
    this.failed = reject;
  });

  /** @internal */
  constructor(connection: Connection, path: string, directory: string, options: WatchOptions) {
    this.begun.catch(() => undefined); // a loop over the changes is told the same
    this.changes = this.read(connection, path, directory, options);
  }

  /** Resolves when changes are being watched: what is changed after that is reported. */
  ready(): Promise<void> {
    this.first ??= this.changes.next();
    this.first.catch(() => undefined);
    return this.begun;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Change> {
    try {
      for (;;) {
        const next = this.first ?? this.changes.next();
        this.first = undefined;
        const { done, value } = await next;
        if (done) return;
        yield value;
      }
    } finally {
      await this.changes.return(undefined);
    }
  }

  private async *read(
    connection: Connection,
    path: string,
    directory: string,
    options: WatchOptions,
  ): AsyncGenerator<Change> {
    const whole = new Deadline(options.signal);
    const time = optionalMilliseconds(options.for);
    if (time !== undefined) whole.within(time);
    const retries = new Retries(connection.retryMs, whole.signal);
    let cursor = options.cursor;
    try {
      for (;;) {
        try {
          const query = { path: directory, recursive: options.recursive, cursor };
          const headers = { Accept: "text/event-stream" };
          const request = { method: "GET", path, query, headers, repeat: true, signal: whole.signal };
          for await (const line of connection.lines(request, () => retries.opened())) {
            retries.succeeded();
            if (!line.startsWith("data: ")) continue;
            const event = JSON.parse(line.slice(6)) as WireEvent;
            cursor = event.cursor;
            if (event.type === "watching") this.watching();
            else
              yield {
                type: event.type,
                path: event.path ?? "",
                from: event.from,
                isDirectory: event.is_directory ?? false,
                cursor,
              };
          }
          throw new Error("the stream ended");
        } catch (error) {
          await retries.after(error, `GET ${path}`);
        }
      }
    } catch (error) {
      if (whole.expired && options.signal?.aborted !== true) return;
      this.failed(error);
      throw error;
    } finally {
      this.watching();
      whole.abort();
    }
  }
}
