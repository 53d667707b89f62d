/** Waits that end: by a time, by a signal. */

/** Resolves after `ms` milliseconds. Throws the reason of the signal when that is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const aborted = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", aborted);
      resolve();
    }, ms);
    signal?.addEventListener("abort", aborted, { once: true });
  });
}

/** A signal that is aborted when `outer` is, or after a time that can be set anew. */
export class Deadline {
  private readonly controller = new AbortController();
  private readonly follow: () => void;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** True when the time has run out. */
  expired = false;

  constructor(private readonly outer?: AbortSignal) {
    this.follow = () => this.controller.abort(outer!.reason);
    if (outer?.aborted) this.follow();
    outer?.addEventListener("abort", this.follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Ends after `ms` milliseconds from now, whatever was set before. */
  within(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.expired = true;
      this.controller.abort(new Error(`nothing arrived within ${ms} ms`));
    }, ms);
  }

  /** Has no end of its own until `within` is called again. */
  pause(): void {
    clearTimeout(this.timer);
  }

  /** Gives up the connection that uses the signal. */
  abort(): void {
    this.close();
    this.controller.abort(new Error("given up"));
  }

  /** Forgets the time and the outer signal. */
  close(): void {
    clearTimeout(this.timer);
    this.outer?.removeEventListener("abort", this.follow);
  }
}
