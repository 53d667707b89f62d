/** The routes that the page uses: those of docs/serve-api.md, and those of docs/routes.md below /s/SANDBOX/7070. */

export type SandboxState = "creating" | "running" | "stopped" | "ended" | "failed";

export interface Sandbox {
  id: string;
  uid?: string;
  template: string;
  state: SandboxState;
  reason: string;
  owner?: string;
  created_at: string;
  expires_at?: string;
  on_end: "remove" | "stop";
}

export interface Command {
  id: string;
  command?: string;
  argv?: string[];
  state: "starting" | "running" | "ended";
  started_at: string;
  ended_at?: string;
  duration_ms?: number;
  exit_code?: number | null;
  signal?: string | null;
  cause?: string;
  kill_level?: string;
  error?: { message: string };
  hints?: { waiting_for_input?: boolean };
  tty: boolean;
  stdin: { open: boolean; offset: number };
  output: { first_kept: number; next_offset: number };
}

/** A request that was refused, or that got no answer (code "unreachable"). */
export class Refusal extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly status = 0,
    /** The session is over, and this server has a form that begins another one. */
    readonly canSignIn = false,
  ) {
    super(message);
  }
}

const UNREACHABLE = "The console does not answer. If `skiff console` has ended, start it again and open its new link.";
const SERVER_UNREACHABLE = "The server does not answer. If that lasts, ask those who run it.";
/** The page is that of `skiff serve`, to which an API key has signed in. */
export let isServed = false;
/** With these flags skiff reaches the sandboxes of this page. */
export const flags = () => (isServed ? ` --driver serve --url ${location.origin}` : "");

function sentence(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.?!]$/.test(begun) ? begun : begun + ".";
}

/** The refusal that an answer with this status and body is; status 0: there was no answer. */
export function refusalOf(status: number, body: string, canSignIn = false): Refusal {
  if (status === 0) return new Refusal("unreachable", isServed ? SERVER_UNREACHABLE : UNREACHABLE);
  try {
    const problem = JSON.parse(body) as { code?: string; detail?: string; title?: string };
    return new Refusal(problem.code ?? "unknown", sentence(problem.detail ?? problem.title ?? ""), status, canSignIn);
  } catch {
    return new Refusal("unknown", `The answer has the status ${status}.`, status);
  }
}

export const SIGN_IN = "/sign-in";
/** The server's own answer names the form; in those of sandboxes it removes this field. */
const namesForm = (answer: Response) => answer.headers.get("Link")?.includes('rel="sign-in"') ?? false;

export const LIST_EVENTS = "/v1/events";
/** The window's event when another request is refused with 401: the list tells whether the session is over. */
export const UNAUTHENTICATED = "unauthenticated";

/** A server that is silent for so many milliseconds does not answer: to a look, and to what may take long. */
const LONGEST_LOOK = 20_000;
export const LONGEST_WRITE = 60_000;
export const LONGEST_DEED = 600_000;

export async function ask(
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
  fields: Record<string, string> = {},
  patience = method === "GET" ? LONGEST_LOOK : LONGEST_DEED,
): Promise<Response> {
  const isBytes = body instanceof Uint8Array;
  const silent = new AbortController();
  const timer = setTimeout(() => silent.abort(), patience);
  let answer: Response;
  try {
    answer = await fetch(path, {
      method,
      // What a sandbox answers must not lead a request elsewhere.
      redirect: "error",
      // A cache that joins the parts of a file would mix an old part with a new one.
      cache: "no-store",
      headers: {
        ...(body === undefined ? {} : { "Content-Type": isBytes ? "application/octet-stream" : "application/json" }),
        ...fields,
      },
      body: body === undefined ? null : isBytes ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body),
      signal: signal ? AbortSignal.any([signal, silent.signal]) : silent.signal,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw refusalOf(0, "");
  } finally {
    clearTimeout(timer);
  }
  // A stream that is open does not notice that the session is over.
  if (answer.status === 401 && path !== LIST_EVENTS) dispatchEvent(new Event(UNAUTHENTICATED));
  if (!answer.ok) throw refusalOf(answer.status, await answer.text().catch(() => ""), namesForm(answer));
  return answer;
}

const sandboxPath = (id: string) => `/v1/sandboxes/${encodeURIComponent(id)}`;
export const agentPath = (sandbox: string) => `/s/${encodeURIComponent(sandbox)}/7070/v1`;
export const sessionPath = (sandbox: string) => `${agentPath(sandbox)}/sessions/default`;
const commandsPath = (sandbox: string) => `${sessionPath(sandbox)}/commands`;
const commandPath = (sandbox: string, id: string) => `${commandsPath(sandbox)}/${encodeURIComponent(id)}`;

export const stopSandbox = (id: string) => ask("POST", `${sandboxPath(id)}/stop`, {});
export const startSandbox = (id: string) => ask("POST", `${sandboxPath(id)}/start`);
export const extendSandbox = (id: string, ttl: number) => ask("POST", `${sandboxPath(id)}/extend`, { ttl_ms: ttl });
/** Removes the sandbox that was shown, and not a later one of its name. */
export const removeSandbox = (one: Sandbox) =>
  ask("DELETE", sandboxPath(one.id) + (one.uid ? `?uid=${encodeURIComponent(one.uid)}` : ""));

export interface Me {
  /** Of the API key; empty for the key of `skiff console`. */
  name: string;
  tenant: string;
}

export async function readMe(): Promise<Me> {
  const me = (await (await ask("GET", "/v1/me")).json()) as Me;
  isServed = me.name !== "";
  return me;
}

/** Tells the other tabs of this page that somebody has signed in or out. */
export const sessionNews = new BroadcastChannel("skiff session");

/** Removes the session from this browser. */
export async function signOut(): Promise<void> {
  await ask("POST", "/sign-out");
  sessionNews.postMessage("out");
}

/** Those in this state; without one, all. */
export async function listCommands(sandbox: string, state?: Command["state"]): Promise<Command[]> {
  const all: Command[] = [];
  let cursor = "";
  do {
    const answer = await ask("GET", `${commandsPath(sandbox)}?limit=500${state ? `&state=${state}` : ""}&cursor=${encodeURIComponent(cursor)}`);
    const page = (await answer.json()) as { items: Command[]; next_cursor?: string };
    all.push(...page.items);
    cursor = page.next_cursor ?? "";
  } while (cursor);
  return all;
}

export async function showCommand(sandbox: string, id: string, signal?: AbortSignal): Promise<Command> {
  return (await (await ask("GET", commandPath(sandbox, id), undefined, signal)).json()) as Command;
}

/** The sandbox's own shell; bash where that is only /bin/sh and there is a bash. */
const SHELL = '[ "$SHELL" != /bin/sh ] || ! command -v bash >/dev/null || SHELL=$(command -v bash); exec "$SHELL" -i';
export const TERMINAL_PREFIX = "console-";

export async function startTerminal(sandbox: string): Promise<string> {
  const letters = crypto.getRandomValues(new Uint8Array(8));
  const id = TERMINAL_PREFIX + Array.from(letters, (one) => one.toString(16).padStart(2, "0")).join("");
  await ask("POST", commandsPath(sandbox), {
    id,
    command: SHELL,
    mode: "background",
    stdin_open: true,
    tty: {},
    env: { TERM: "xterm-256color", COLORTERM: "truecolor" },
  });
  return id;
}

/** Ends the whole tree of the command's processes. */
export const killCommand = (sandbox: string, id: string) =>
  ask("POST", `${commandPath(sandbox, id)}/signal`, { signal: "TERM", target: "tree", escalate_after_ms: 2000 });

export interface Process {
  command: string;
  pid: number;
  command_line: string;
  name: string;
}

export async function processesOf(sandbox: string, id: string): Promise<Process[]> {
  const { items } = (await (await ask("GET", `${sessionPath(sandbox)}/processes`)).json()) as { items: Process[] };
  return items.filter(({ command }) => command === id);
}

/** Waits for the command's end, but not longer than a few seconds. */
export const awaitEnd = (sandbox: string, id: string) => ask("GET", `${commandPath(sandbox, id)}?wait_ms=5000`);

export const answerCommand = (sandbox: string, id: string, text: string) =>
  ask("POST", `${commandPath(sandbox, id)}/stdin`, new TextEncoder().encode(text));

export function attachAddress(sandbox: string, id: string, from: number): string {
  const origin = location.origin.replace(/^http/, "ws");
  return `${origin}${commandPath(sandbox, id)}/attach?from=${from}`;
}

export const watchPath = (sandbox: string) => `${sessionPath(sandbox)}/files:watch?recursive=true`;
/** Changes behind the cursor; without one those from now on. */
export const watchAddress = (sandbox: string, cursor?: number) =>
  location.origin.replace(/^http/, "ws") + watchPath(sandbox) + (cursor === undefined ? "" : `&cursor=${cursor}`);

export interface Port {
  address: string;
  port: number;
  process?: string;
  command?: string;
}

/** What listens in the sandbox, by port. */
export async function listPorts(sandbox: string, signal: AbortSignal): Promise<Port[]> {
  const answer = await ask("GET", `${agentPath(sandbox)}/ports`, undefined, signal);
  const { items } = (await answer.json()) as { items: Port[] };
  return items.sort((a, b) => a.port - b.port || a.address.localeCompare(b.address));
}

/** A link for this browser to a port. */
export async function previewOf(sandbox: string, port: number): Promise<string> {
  const answer = await ask("POST", `${sandboxPath(sandbox)}/previews`, { port });
  const address = new URL(((await answer.json()) as { url: string }).url);
  // The console may be behind a tunnel, with another port.
  address.port = location.port;
  return address.href;
}

/** The names that a sandbox may reach. A sandbox without egress by name is refused with the code "not_supported". */
export async function readNetwork(sandbox: string, signal: AbortSignal): Promise<string[]> {
  const answer = await ask("GET", `${sandboxPath(sandbox)}/network`, undefined, signal);
  return ((await answer.json()) as { egress: string[] }).egress;
}

export const changeNetwork = (sandbox: string, change: { add?: string[]; remove?: string[] }) =>
  ask("PATCH", `${sandboxPath(sandbox)}/network`, change);

export const networkLogPath = (sandbox: string) => `${sandboxPath(sandbox)}/network/log`;

export interface Stats {
  cpu: { cores: number; limit_millis: number | null; used_ms: number | null };
  memory: { used_bytes: number | null; limit_bytes: number | null };
  pids: { used: number | null; limit: number | null };
}

export async function readStats(sandbox: string, signal: AbortSignal): Promise<Stats> {
  return (await (await ask("GET", `${agentPath(sandbox)}/stats`, undefined, signal)).json()) as Stats;
}
