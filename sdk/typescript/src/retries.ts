import { SkiffError } from "./errors.js";
import { sleep } from "./waits.js";

const FIRST_DELAY_MS = 50;
const LONGEST_DELAY_MS = 2000;
/** Answers that say: nothing was done, and a moment later it may be. */
const NOT_YET = new Set(["sandbox_starting", "cluster_unavailable", "too_many_connections"]);
/** Answers of something between, after which the request may have been carried out. */
const UNSURE = new Set(["bad_gateway", "request_timeout", "http_502", "http_503", "http_504"]);

/**
 * Whether a failed request may be sent once more. Only one that can be repeated safely is sent again when it may have
 * been done.
 */
function isPassing(error: unknown, isRepeatable: boolean): boolean {
  if (!(error instanceof SkiffError)) return isRepeatable;
  return NOT_YET.has(error.code) || (isRepeatable && UNSURE.has(error.code));
}

/** A connection that lasted so long was a success, also if nothing came. */
const LASTING_MS = 5000;

/** How often and how long something is tried again. Each success begins anew. */
export class Retries {
  private failures = 0;
  private until: number | undefined;
  private openedAt: number | undefined;

  constructor(
    private readonly ms: number,
    private readonly signal?: AbortSignal,
  ) {}

  /** True if something failed before. */
  get failed(): boolean {
    return this.failures > 0;
  }

  /** A stream has begun. */
  opened(): void {
    this.openedAt = Date.now();
  }

  succeeded(): void {
    this.failures = 0;
    this.until = undefined;
  }

  /**
   * Waits before the next attempt. Throws if the failure does not pass, or the time is over. `work` is for people.
   */
  async after(error: unknown, work: string, isRepeatable = true): Promise<void> {
    this.signal?.throwIfAborted();
    if (this.openedAt !== undefined && Date.now() - this.openedAt >= LASTING_MS) this.succeeded();
    this.openedAt = undefined;
    this.until ??= Date.now() + this.ms;
    const backoff = Math.min(FIRST_DELAY_MS * 2 ** this.failures++, LONGEST_DELAY_MS) * (0.5 + Math.random() / 2);
    const told = error instanceof SkiffError ? error.retryAfter : undefined;
    const delay = told === undefined ? backoff : told * 1000;
    if (!isPassing(error, isRepeatable) || Date.now() + delay > this.until) throw asSkiffError(error, work);
    await sleep(delay, this.signal);
  }
}

/** A failure of `fetch` has no code of its own. */
export function asSkiffError(error: unknown, work: string): SkiffError {
  if (error instanceof SkiffError) return error;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new SkiffError("connection_failed", `${work}: no answer (${reason})`, { cause: error });
}
