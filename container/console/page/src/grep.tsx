import { useEffect, useRef, useState } from "preact/hooks";

import type { Refusal } from "./api";
import { grep, type Match, shownPath } from "./files_api";
import { Trouble } from "./messages";

/** Finds lines in the files below a directory. */
export function Grep({ sandbox, directory, onOpen }: { sandbox: string; directory: string; onOpen: (match: Match) => void }) {
  const [pattern, setPattern] = useState("");
  const [isRegex, setIsRegex] = useState(false);
  const [ignoreCase, setIgnoreCase] = useState(true);
  const [found, setFound] = useState<{ matches: Match[]; truncated: boolean }>();
  const [isRunning, setIsRunning] = useState(false);
  const [trouble, setTrouble] = useState<string>();
  const running = useRef(new AbortController());
  useEffect(() => () => running.current.abort(), []);

  const search = async (event: Event) => {
    event.preventDefault();
    running.current.abort();
    const mine = (running.current = new AbortController());
    setTrouble(undefined);
    setFound(undefined);
    setIsRunning(true);
    try {
      const answer = await grep(sandbox, directory, pattern, { literal: !isRegex, ignoreCase }, mine.signal);
      if (!mine.signal.aborted) setFound(answer);
    } catch (error) {
      if (!mine.signal.aborted) setTrouble((error as Refusal).message);
    }
    if (!mine.signal.aborted) setIsRunning(false);
  };
  const count = found?.matches.length ?? 0;
  return (
    <section class="grep" aria-label="Search in files">
      <form onSubmit={(event) => void search(event)}>
        <label for="pattern">Search below {shownPath(directory) || "/"}</label>
        <div class="bar">
          <input id="pattern" type="search" required spellcheck={false} autocomplete="off" value={pattern} onInput={(event) => setPattern(event.currentTarget.value)} />
          <button disabled={isRunning}>{isRunning ? "Searching…" : "Search"}</button>
        </div>
        <label class="check">
          <input type="checkbox" checked={isRegex} onChange={() => setIsRegex(!isRegex)} /> Regular expression
        </label>
        <label class="check">
          <input type="checkbox" checked={ignoreCase} onChange={() => setIgnoreCase(!ignoreCase)} /> Ignore case
        </label>
      </form>
      {trouble && <Trouble text={trouble} />}
      <p class="faint" role="status">
        {found && (found.truncated ? `The first ${count} of more lines` : count === 0 ? "No line" : count === 1 ? "1 line" : `${count} lines`)}
      </p>
      {found && count > 0 && (
        <ul aria-label={`Lines with ${pattern}`}>
          {found.matches.map((match, index) => (
            <li key={index}>
              <button onClick={() => onOpen(match)}>
                <small>{`${match.path}:${match.line}`}</small>
                <code>{match.text.slice(0, 300)}</code>
              </button>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
