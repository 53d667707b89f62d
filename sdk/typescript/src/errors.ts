import type { Result } from "./results.js";

/** What a SkiffError is made of. */
export interface ErrorFields {
  status?: number;
  field?: string | undefined;
  retryAfter?: number | undefined;
  requestId?: string | undefined;
  result?: Result | undefined;
  cause?: unknown;
}

/**
 * The only error class of this package. Branch on `code`, which never changes its meaning; show `detail` to people.
 *
 * The codes are those of docs/errors.md (`path_not_found`, `command_conflict`, ...), and five of this package:
 * - `connection_failed`: nobody answered until the time for retries was over. `detail` says what may have been done.
 * - `timeout`: a wait reached its end. The agent uses the same code.
 * - `command_failed`: a command with `check` did not end with 0. `result` has its output.
 * - `not_configured`: arguments and variables do not say where sandboxes are, or contradict each other.
 * - `program_failed`: the program `skiff` failed. `detail` has its message.
 *
 * When an AbortSignal is aborted, its reason is thrown as it is, as `fetch` does.
 */
export class SkiffError extends Error {
  override readonly name = "SkiffError";
  /** A stable word. */
  readonly code: string;
  /** The HTTP status; 0 if there was no answer. */
  readonly status: number;
  /** What failed, for people. */
  readonly detail: string;
  /** The invalid input: a JSON pointer, or the name of a parameter. */
  readonly field: string | undefined;
  /** Seconds after which the same request may succeed, if the answer says so. */
  readonly retryAfter: number | undefined;
  /** The id of the request in the log of the agent or the server. */
  readonly requestId: string | undefined;
  /** The result of the command, with the code `command_failed`. */
  readonly result: Result | undefined;

  constructor(code: string, detail: string, fields: ErrorFields = {}) {
    super(`${detail} [${code}]`, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.code = code;
    this.status = fields.status ?? 0;
    this.detail = detail;
    this.field = fields.field;
    this.retryAfter = fields.retryAfter;
    this.requestId = fields.requestId;
    this.result = fields.result;
  }
}

/** The problem document of an answer that is not a success. */
export async function problemOf(response: Response): Promise<SkiffError> {
  const text = await response.text();
  const isProblem = response.headers.get("Content-Type")?.startsWith("application/problem+json");
  const problem = (isProblem ? JSON.parse(text) : {}) as Record<string, string | undefined>;
  const seconds = Number(response.headers.get("Retry-After") ?? NaN);
  const plain = `${response.status} ${response.statusText}: ${text.slice(0, 200)}`;
  return new SkiffError(problem.code ?? `http_${response.status}`, problem.detail ?? plain, {
    status: response.status,
    field: problem.field,
    retryAfter: Number.isFinite(seconds) ? seconds : undefined,
    requestId: problem.instance,
  });
}
