import { useState } from "preact/hooks";

import { changeNetwork, readNetwork, Refusal } from "./api";
import { Line, Notice, Trouble } from "./messages";
import { type LogLine, type LogRow, useNetworkLog } from "./network_log";
import { usePolled } from "./polled";
import { bytes, whole } from "./quantities";

const BETWEEN_LOOKS = 3_000;

const WORD: Record<LogLine["verdict"], string> = { allowed: "open", ended: "ended", denied: "refused", cut: "cut", missing: "left out" };

/** The rules; null for a sandbox that has none of this kind. */
async function rulesOf(sandbox: string, signal: AbortSignal): Promise<string[] | null> {
  try {
    return await readNetwork(sandbox, signal);
  } catch (error) {
    if (error instanceof Refusal && (error.code === "not_supported" || error.code === "invalid_field")) return null;
    throw error;
  }
}

function hostOf({ host, port, method, path }: LogLine): string {
  if (!host) return "";
  return `${method ? `${method} ` : ""}${host}${port === 443 ? "" : `:${port}`}${path ?? ""}`;
}

function factsOf({ line, count }: LogRow): string {
  const facts = [line.code, line.status && String(line.status), count > 1 && `${count} times`];
  if (line.sent !== undefined) facts.push(`${bytes(line.sent)} sent, ${bytes(line.received ?? 0)} received`);
  return facts.filter(Boolean).join(", ");
}

interface RowProps {
  row: LogRow;
  rules: string[];
  onAllow(rule: string): void;
}

function Row({ row, rules, onAllow }: RowProps) {
  const { verdict, rule, time, detail } = row.line;
  return (
    <li>
      <time class="faint" dateTime={time} title={whole(time)}>
        {new Date(time).toLocaleTimeString()}
      </time>
      <span class={`outcome ${verdict === "denied" || verdict === "cut" ? "failed" : verdict === "allowed" ? "running" : ""}`}>{WORD[verdict]}</span>
      <span>
        <code title={detail}>{hostOf(row.line)}</code> <span class="faint">{verdict === "missing" ? detail : factsOf(row)}</span>
      </span>
      <span class="deed">
        {rule && rules.includes(rule) && <span class="faint">allowed now</span>}
        {rule && !rules.includes(rule) && (
          <button aria-label={`Allow this host: ${rule}`} onClick={() => onAllow(rule)}>
            Allow this host
          </button>
        )}
      </span>
    </li>
  );
}

interface RulesProps {
  rules: string[];
  onAdd(rule: string): Promise<boolean>;
  onRemove(rule: string): void;
}

function Rules({ rules, onAdd, onRemove }: RulesProps) {
  const [typed, setTyped] = useState("");
  const add = async (event: Event) => {
    event.preventDefault();
    if (await onAdd(typed.trim())) setTyped("");
  };
  return (
    <>
      <form class="bar" onSubmit={(event) => void add(event)}>
        <label for="rule">Allow a host</label>
        <input id="rule" class="field" required placeholder="pypi.org" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        <button>Allow</button>
      </form>
      {rules.length === 0 && <p class="faint">It reaches nothing.</p>}
      {rules.length > 0 && (
        <ul class="rules" aria-label="Hosts that it may reach">
          {rules.map((rule) => (
            <li key={rule}>
              <code>{rule}</code>
              <button class="quiet" aria-label={`Remove ${rule}`} onClick={() => onRemove(rule)}>
                Remove
              </button>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Log({ sandbox, rules, onAllow }: { sandbox: string; rules: string[]; onAllow(rule: string): void }) {
  const { rows, trouble } = useNetworkLog(sandbox);
  const [isOnlyRefused, setIsOnlyRefused] = useState(false);
  const shown = rows?.filter(({ line }) => !isOnlyRefused || line.verdict === "denied" || line.verdict === "cut");
  return (
    <>
      <div class="bar">
        <h2>Log</h2>
        <label class="check">
          <input type="checkbox" checked={isOnlyRefused} onChange={(event) => setIsOnlyRefused(event.currentTarget.checked)} />
          Only what was refused
        </label>
      </div>
      {trouble && <Trouble text={trouble} />}
      {!rows && !trouble && (
        <p class="loading" role="status">
          Loading…
        </p>
      )}
      {shown?.length === 0 && <p class="faint">Nothing yet. What its commands connect to appears by itself.</p>}
      {shown && shown.length > 0 && (
        <ul class="log" aria-label="Log of connections">
          {shown.map((row) => (
            <Row key={row.key} row={row} rules={rules} onAllow={onAllow} />
          ))}
        </ul>
      )}
    </>
  );
}

/** The hosts that a sandbox may reach, and what it has reached. */
export function Network({ sandbox }: { sandbox: string }) {
  const { value: rules, trouble, again } = usePolled(sandbox, BETWEEN_LOOKS, rulesOf);
  const [refused, setRefused] = useState<string>();
  const [told, setTold] = useState("");

  const change = async (rule: string, how: "add" | "remove"): Promise<boolean> => {
    setRefused(undefined);
    try {
      await changeNetwork(sandbox, { [how]: [rule] });
      setTold(how === "add" ? `${rule} is allowed now.` : `${rule} is not allowed any more.`);
      again();
      return true;
    } catch (error) {
      setRefused((error as Refusal).message);
      return false;
    }
  };
  if (rules === null) {
    return (
      <Notice title="Its network is not limited by names">
        <p>A sandbox made like this reaches the hosts that you name and no others, and what it connects to is shown here:</p>
        <Line text="skiff up demo --egress pypi.org" />
      </Notice>
    );
  }
  return (
    <section class="network">
      {trouble && <Trouble text={trouble} />}
      {refused && <Trouble text={refused} onClose={() => setRefused(undefined)} />}
      <p class="hidden" role="status">
        {told}
      </p>
      {rules && (
        <>
          <Rules rules={rules} onAdd={(rule) => change(rule, "add")} onRemove={(rule) => void change(rule, "remove")} />
          <Log sandbox={sandbox} rules={rules} onAllow={(rule) => void change(rule, "add")} />
        </>
      )}
    </section>
  );
}
