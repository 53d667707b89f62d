import { useEffect, useRef, useState } from "preact/hooks";

import {
  answerCommand,
  awaitEnd,
  type Command,
  flags,
  killCommand,
  listCommands,
  type Process,
  processesOf,
  type Refusal,
  showCommand,
  TERMINAL_PREFIX,
} from "./api";
import { leave, leftOf } from "./left";
import { Line, Notice, Trouble } from "./messages";
import { usePolled } from "./polled";
import { age, span } from "./quantities";
import { Screen } from "./screen";

const BETWEEN_LOOKS = 1_500;
const MOST_LOOKED_AT = 20;

export function howItEnded(command: Command): string {
  if (command.cause === "spawn_failed") return `could not start: ${command.error?.message ?? ""}`;
  const how = command.signal ? command.signal : `exit code ${command.exit_code ?? "unknown"}`;
  const causes: Record<string, string> = {
    timeout: "its time was over",
    idle_timeout: "it was idle for too long",
    output_limit: "it printed too much",
    oom: "the memory was used up",
    oom_guard: "the memory was nearly used up",
    killed_by_client: "it was killed",
    session_deleted: "its session was deleted",
    shutdown: "the sandbox was stopped",
  };
  const cause = causes[command.cause ?? ""];
  return cause ? `${how}, ${cause}` : how;
}

/** Its class. */
function outcomeOf(command: Command): "running" | "good" | "failed" {
  if (command.state !== "ended") return "running";
  return command.exit_code === 0 && !command.signal ? "good" : "failed";
}

const lineOf = (command: Command) => command.command ?? (command.argv ?? []).join(" ");

/** The newest first. Whether a command waits for input is told of one at a time, so the newest ones are looked at. */
async function commandsOf(sandbox: string, state?: Command["state"]): Promise<Command[]> {
  const found = (await listCommands(sandbox, state)).filter(({ id }) => !id.startsWith(TERMINAL_PREFIX));
  found.sort((a, b) => b.started_at.localeCompare(a.started_at));
  const mayWait = found.filter(({ state, stdin }) => state === "running" && stdin.open).slice(0, MOST_LOOKED_AT);
  const looked = await Promise.all(mayWait.map((one) => showCommand(sandbox, one.id).catch(() => one)));
  return found.map((one) => looked.find(({ id }) => id === one.id) ?? one);
}

const waits = ({ state, stdin, hints }: Command) => state !== "ended" && stdin.open && hints?.waiting_for_input === true;

/** How many wait for input. */
export const commandsThatWait = async (sandbox: string) => (await commandsOf(sandbox, "running")).filter(waits).length;

/** `focuses`: the person has just chosen the command, and goes on here. */
function Answer({ sandbox, id, focuses }: { sandbox: string; id: string; focuses: boolean }) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (focuses) input.current?.focus();
  }, []);
  const [text, setText] = useState("");
  const [isSending, setIsSending] = useState(false);
  const [trouble, setTrouble] = useState<string>();
  const send = async (event: Event) => {
    event.preventDefault();
    setIsSending(true);
    setTrouble(undefined);
    try {
      await answerCommand(sandbox, id, text + "\n");
      setText("");
    } catch (error) {
      setTrouble((error as Refusal).message);
    }
    setIsSending(false);
  };
  return (
    <form class="answer" onSubmit={(event) => void send(event)}>
      <label for="answer">It waits for input</label>
      <input id="answer" ref={input} autocomplete="off" spellcheck={false} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      <button class="main" disabled={isSending}>
        {isSending ? "Sending…" : "Send line"}
      </button>
      {trouble && <Trouble text={trouble} />}
    </form>
  );
}

const MOST_NAMED = 8;

function told(processes: Process[]): string {
  const names = processes.slice(0, MOST_NAMED).map(({ pid, command_line, name }) => `${command_line || name} (${pid})`);
  const more = processes.length - names.length;
  return names.join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** Ends the command with all of its processes: which have ended, and which are still there. */
async function killAll(sandbox: string, id: string): Promise<{ ended: Process[]; left: Process[] }> {
  const before = await processesOf(sandbox, id);
  await killCommand(sandbox, id);
  await awaitEnd(sandbox, id);
  const left = await processesOf(sandbox, id);
  return { ended: before.filter(({ pid }) => !left.some((one) => one.pid === pid)), left };
}

function Details({ sandbox, command, onLook }: { sandbox: string; command: Command; onLook: () => void }) {
  const [isKilling, setIsKilling] = useState(false);
  const [killed, setKilled] = useState<{ ended: Process[]; left: Process[] }>();
  const [trouble, setTrouble] = useState<string>();
  const isNew = useRef(true);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    isNew.current = false;
  }, []);
  const runs = command.state !== "ended";
  // On a narrow page it is below the list.
  useEffect(() => {
    const element = heading.current;
    if (element && element.getBoundingClientRect().top > innerHeight / 2) element.scrollIntoView();
  }, []);
  const ran = useRef(runs);
  useEffect(() => {
    // What a person has pressed goes with the command's end.
    if (ran.current && !runs && document.activeElement === document.body) heading.current?.focus();
    ran.current = runs;
  }, [runs]);
  const kill = async () => {
    setIsKilling(true);
    setTrouble(undefined);
    try {
      setKilled(await killAll(sandbox, command.id));
    } catch (error) {
      setTrouble((error as Refusal).message);
    }
    setIsKilling(false);
    onLook();
  };
  return (
    <section class="details" aria-labelledby="details-title">
      <h2 id="details-title" ref={heading} tabIndex={-1}>
        <code>{lineOf(command)}</code>
      </h2>
      <p class="facts">
        {runs ? "Running" : `Ended: ${howItEnded(command)}`}
        {command.duration_ms !== undefined && ` after ${span(command.duration_ms)}`}
        {!runs && command.kill_level === "incomplete" && ". Some of its processes may be left"}
        {runs && (
          <button class="danger" disabled={isKilling} onClick={() => void kill()}>
            {isKilling ? "Ending…" : "Kill"}
          </button>
        )}
      </p>
      {killed && (
        <p class="killed" role="status">
          {killed.ended.length > 0 && `Kill ended ${told(killed.ended)}. `}
          {killed.left.length > 0 && `Still there: ${told(killed.left)}.`}
        </p>
      )}
      {trouble && <Trouble text={trouble} onClose={() => setTrouble(undefined)} />}
      {waits(command) && <Answer key={command.id} sandbox={sandbox} id={command.id} focuses={isNew.current} />}
      <div class="panel">
        <Screen key={command.id} sandbox={sandbox} command={command.id} label={`Output of ${lineOf(command)}`} readOnly onEnd={onLook} />
      </div>
    </section>
  );
}

/** The commands of a sandbox's default session, the newest first; terminals of the console have a view of their own. */
export function Commands({ sandbox, uid }: { sandbox: string; uid: string }) {
  const { value: all, trouble, again } = usePolled(sandbox, BETWEEN_LOOKS, (id) => commandsOf(id));
  const [shown, setShown] = useState(leftOf(uid).command);
  const show = (id: string) => {
    leave(uid, { command: id });
    setShown(id);
  };
  const now = Date.now();
  const current = all?.find(({ id }) => id === shown);
  return (
    <section class="commands">
      {trouble && <Trouble text={trouble} />}
      {!all && !trouble && (
        <p class="loading" role="status">
          Loading…
        </p>
      )}
      {all?.length === 0 && (
        <Notice title="No command has run here yet">
          <p>What somebody runs appears here by itself, except what is typed in a terminal:</p>
          <Line text={`skiff exec ${sandbox}${flags()} -- ls`} />
        </Notice>
      )}
      {all && all.length > 0 && (
        <ul aria-label="Commands">
          {all.map((one) => (
            <li key={one.id}>
              <button aria-pressed={one.id === shown} onClick={() => show(one.id)}>
                <code>{lineOf(one)}</code>
                <small>
                  <span class={`outcome ${outcomeOf(one)}`}>{one.state === "ended" ? howItEnded(one) : "running"}</span>
                  {waits(one) && <span class="badge">waiting for input</span>}
                  {` · ${age(one.started_at, now)} ago`}
                </small>
              </button>
            </li>
          ))}
        </ul>
      )}
      {all && all.length > 0 && !current && <p class="faint">Choose a command to see its output.</p>}
      {current && <Details key={current.id} sandbox={sandbox} command={current} onLook={again} />}
    </section>
  );
}
