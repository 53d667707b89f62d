import { useEffect, useRef, useState } from "preact/hooks";

import { Refusal } from "./api";
import { readText, shownPath, type TextFile, writeText } from "./files_api";
import { Trouble } from "./messages";

/** Edits that were not saved, by sandbox and file: they stay while other files and views are shown. */
const drafts = new Map<string, TextFile>();
addEventListener("beforeunload", (event) => {
  if (drafts.size > 0) event.preventDefault();
});

const WAS_CHANGED = 412;
const IS_GONE = 404;

interface EditorProps {
  sandbox: string;
  place: string;
  /** The line to show, from 1. */
  line: number | undefined;
  onSaved: () => void;
}

/** Selects a line, and scrolls to it. */
function showLine(area: HTMLTextAreaElement, line: number): void {
  const lines = area.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  area.focus();
  area.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
  area.scrollTop = (area.scrollHeight / lines.length) * Math.max(0, line - 4);
}

/** A text file. It is saved only over the text that was read; otherwise both texts are shown. */
export function Editor({ sandbox, place, line, onSaved }: EditorProps) {
  const key = `${sandbox} ${place}`;
  /** The text as it was read or saved; `null`: the file is not text. */
  const [read, setRead] = useState<TextFile | null>();
  const [text, setText] = useState("");
  /** What somebody else has saved meanwhile; `null`: the file was deleted. */
  const [theirs, setTheirs] = useState<TextFile | null>();
  const [trouble, setTrouble] = useState<string>();
  const [isSaving, setIsSaving] = useState(false);
  const [said, setSaid] = useState("");
  const area = useRef<HTMLTextAreaElement>(null);

  useEffect(() => {
    const gone = new AbortController();
    const look = async () => {
      try {
        const draft = drafts.get(key);
        const found = await readText(sandbox, place, gone.signal);
        if (gone.signal.aborted) return;
        if (!found) return setRead(null);
        // A draft keeps the tag of the text on which it is based.
        setRead(draft ? { ...found, etag: draft.etag, lineEnd: draft.lineEnd } : found);
        setText(draft?.text ?? found.text);
      } catch (error) {
        if (!gone.signal.aborted) setTrouble((error as Refusal).message);
      }
    };
    void look();
    return () => gone.abort();
  }, [key]);
  useEffect(() => {
    if (read && line !== undefined && area.current) showLine(area.current, line);
  }, [line, read === undefined]);

  if (read === undefined) {
    if (trouble) return <Trouble text={trouble} />;
    return (
      <p class="loading" role="status">
        Loading…
      </p>
    );
  }
  if (read === null) return <p class="faint">This is not a text in UTF-8. Download it to see it.</p>;

  const isChanged = text !== read.text;
  const change = (to: string) => {
    setText(to);
    setSaid("");
    if (to === read.text) drafts.delete(key);
    else drafts.set(key, { ...read, text: to });
  };
  const save = async (over: { etag: string; lineEnd: "\n" | "\r\n" }) => {
    setIsSaving(true);
    setTrouble(undefined);
    try {
      const etag = await writeText(sandbox, place, text, over.lineEnd, over.etag);
      setRead({ text, etag, lineEnd: over.lineEnd, mixed: false });
      drafts.delete(key);
      setTheirs(undefined);
      setSaid("Saved.");
      onSaved();
    } catch (error) {
      const { status, message } = error as Refusal;
      if (status === WAS_CHANGED || status === IS_GONE) await compare();
      else setTrouble(message);
    }
    setIsSaving(false);
  };
  const compare = async () => {
    try {
      const found = await readText(sandbox, place);
      if (found) setTheirs(found);
      else setTrouble("The file was changed meanwhile, and is not a text any more. Your text was not saved.");
    } catch (error) {
      if ((error as Refusal).status === IS_GONE) setTheirs(null);
      else setTrouble((error as Refusal).message);
    }
  };
  const take = (found: TextFile) => {
    setRead(found);
    setText(found.text);
    drafts.delete(key);
    setTheirs(undefined);
  };

  const path = shownPath(place);
  return (
    <div class="editor">
      {trouble && <Trouble text={trouble} onClose={() => setTrouble(undefined)} />}
      {theirs !== undefined && (
        <div class="trouble" role="alert">
          <p>
            {theirs ? "The file was changed meanwhile. Your text was not saved." : "The file was deleted meanwhile. Your text was not saved."}
          </p>
        </div>
      )}
      {read.mixed && <p class="faint">Its lines end in different ways, which an edit would change: it is only shown.</p>}
      <div class="texts">
        <div>
          <label for="text">{theirs === undefined ? path : "Your text"}</label>
          <textarea
            id="text"
            ref={area}
            spellcheck={false}
            autocapitalize="off"
            wrap="off"
            readOnly={read.mixed}
            value={text}
            onInput={(event) => change(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return;
              event.preventDefault();
              if (isChanged && !isSaving && theirs === undefined) void save(read);
            }}
          />
        </div>
        {theirs && (
          <div>
            <label for="theirs">The file now</label>
            <textarea id="theirs" readOnly wrap="off" value={theirs.text} />
          </div>
        )}
      </div>
      <div class="bar">
        {theirs === undefined && (
          <>
            <button class="main" disabled={!isChanged || isSaving || read.mixed} onClick={() => void save(read)}>
              {isSaving ? "Saving…" : "Save"}
            </button>
            <button disabled={!isChanged || isSaving} onClick={() => change(read.text)}>
              Undo all changes
            </button>
          </>
        )}
        {theirs !== undefined && (
          <>
            <button class="danger" disabled={isSaving} onClick={() => void save(theirs ?? { etag: "", lineEnd: read.lineEnd })}>
              {theirs ? "Replace the file with your text" : "Write your text to a new file"}
            </button>
            {theirs && (
              <button disabled={isSaving} onClick={() => take(theirs)}>
                Take the file, drop your text
              </button>
            )}
          </>
        )}
        <span class="faint" role="status">
          {isChanged ? "Not saved" : said}
        </span>
      </div>
    </div>
  );
}
