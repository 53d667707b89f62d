/** What can be written to a file. */
export type Data =
  | string
  | Uint8Array
  | ArrayBuffer
  | Blob
  | ReadableStream<Uint8Array>
  | Iterable<Uint8Array | string>
  | AsyncIterable<Uint8Array | string>;

/** What `fetch` sends as it is. (Types of Node have no name for it.) */
export type Sendable = string | Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array>;

/** A body of a request, and whether it can be made more than once. */
export interface Body {
  make: () => Sendable;
  repeat: boolean;
}

/**
 * Streams are read once, so a request with one is not repeated. Browsers cannot send them: the Blob of one is sent.
 */
export async function bodyOf(data: Data): Promise<Body> {
  if (typeof data === "string" || data instanceof Uint8Array || data instanceof ArrayBuffer || data instanceof Blob) {
    return { make: () => data, repeat: true };
  }
  const stream = data instanceof ReadableStream ? data : streamOf(data);
  if (!canSendStreams()) {
    const blob = await new Response(stream).blob();
    return { make: () => blob, repeat: true };
  }
  return { make: () => stream, repeat: false };
}

/** False in browsers, which send a stream over HTTP/2 alone. */
function canSendStreams(): boolean {
  return typeof (globalThis as { window?: { document?: unknown } }).window?.document === "undefined";
}

/** A stream of these pieces. */
export function streamOf(
  pieces: Iterable<Uint8Array | string> | AsyncIterable<Uint8Array | string>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const iterator = Symbol.asyncIterator in pieces ? pieces[Symbol.asyncIterator]() : pieces[Symbol.iterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (done) return controller.close();
      controller.enqueue(typeof value === "string" ? encoder.encode(value) : value);
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}
