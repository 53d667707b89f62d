import { useEffect, useRef, useState } from "preact/hooks";

import type { Refusal } from "./api";
import { readText, type TextFile, writeText } from "./files_api";

/** Edits that were not saved, by sandbox and file: they stay while other files and views are shown. */
const drafts = new Map<string, TextFile>();
addEventListener("beforeunload", (event) => {
  if (drafts.size > 0) event.preventDefault();
});

const keyOf = (sandbox: string, place: string) => `${sandbox} ${place}`;

/** The files of a sandbox with edits that are not saved, also those that somebody has removed meanwhile. */
export function unsaved(sandbox: string): string[] {
  const start = keyOf(sandbox, "");
  return [...drafts.keys()].filter((key) => key.startsWith(start)).map((key) => key.slice(start.length));
}

/** Drops an edit, and returns its text with the ends of lines that the file had. */
export function forgetDraft(sandbox: string, place: string): string | undefined {
  const key = keyOf(sandbox, place);
  const draft = drafts.get(key);
  drafts.delete(key);
  return draft?.text.replaceAll("\n", draft.lineEnd);
}

const WAS_CHANGED = 412;
const IS_GONE = 404;
const NO_TEXT_NOW = "The file was changed meanwhile, and is not a text any more. Your text was not saved.";

/** The text of a file that is shown and edited, and what happened to the file meanwhile. */
export interface EditedFile {
  /** The text as it was read or saved; `null`: the file is not text; undefined until it is read. */
  read: TextFile | null | undefined;
  text: string;
  /** The text that the editor is given; what is typed does not change it. */
  given: { text: string };
  isChanged: boolean;
  /** What somebody else has saved, which was shown when the own text was to be saved; `null`: the file was deleted. */
  theirs: TextFile | null | undefined;
  /** Somebody has changed or removed the file while the own text is not saved, or has removed it. */
  news: "changed" | "deleted" | undefined;
  /** The file's text with which the own one is compared. */
  against: string | undefined;
  trouble: string | undefined;
  isSaving: boolean;
  said: string;
  change(to: string): void;
  save(): void;
  /** Writes the own text over the text of somebody else that is shown. */
  replace(): void;
  /** Drops the own text. */
  take(): void;
  /** Reads the file as it is now, and compares the own text with it. */
  compare(): void;
  endComparison(): void;
  forget(): void;
}

/** `turn` changes when the file may have changed. */
export function useEditedFile(sandbox: string, place: string, turn: number, onSaved: () => void): EditedFile {
  const key = keyOf(sandbox, place);
  const [read, setRead] = useState<TextFile | null>();
  const [text, setText] = useState("");
  const [given, setGiven] = useState({ text: "" });
  const [theirs, setTheirs] = useState<TextFile | null>();
  const [news, setNews] = useState<"changed" | "deleted">();
  const [against, setAgainst] = useState<string>();
  const [trouble, setTrouble] = useState<string>();
  const [isSaving, setIsSaving] = useState(false);
  const [said, setSaid] = useState("");
  const isChanged = read ? text !== read.text : false;
  const now = useRef({ read, text, isSaving, theirs });
  now.current = { read, text, isSaving, theirs };
  const missed = useRef(false);
  const gone = useRef(new AbortController());

  const show = (found: TextFile, why = "") => {
    setRead(found);
    setText(found.text);
    setGiven({ text: found.text });
    drafts.delete(key);
    setTheirs(undefined);
    setNews(undefined);
    setAgainst(undefined);
    setSaid(why);
  };
  const begin = (found: TextFile) => {
    const draft = drafts.get(key);
    if (!draft) return show(found);
    // A draft keeps the tag of the text on which it is based.
    setRead({ ...found, etag: draft.etag, lineEnd: draft.lineEnd });
    setText(draft.text);
    setGiven({ text: draft.text });
    if (found.etag !== draft.etag) setNews("changed");
  };
  /** Reads the file, which may have changed. */
  const look = async () => {
    try {
      const found = await readText(sandbox, place, gone.current.signal);
      if (gone.current.signal.aborted) return;
      const before = now.current;
      if (before.isSaving) return void (missed.current = true);
      setTrouble(undefined);
      if (!before.read) return found ? begin(found) : setRead(null);
      const hasEdits = before.text !== before.read.text;
      if (found?.etag === before.read.etag) return setNews(undefined);
      // What the person compares does not change meanwhile.
      if (before.theirs !== undefined) return;
      if (hasEdits) return setNews("changed");
      if (!found) return setRead(null);
      show(found, "Somebody has changed the file. This is its text now.");
    } catch (error) {
      if (gone.current.signal.aborted) return;
      const { status, message } = error as Refusal;
      const draft = drafts.get(key);
      if (status === IS_GONE && !now.current.read && draft) {
        begin({ ...draft, text: "" });
        setNews("deleted");
      } else if (status === IS_GONE && now.current.read) setNews("deleted");
      else setTrouble(message);
    }
  };
  useEffect(() => () => gone.current.abort(), []);
  useEffect(() => void look(), [turn]);

  /** Reads the file as it is now; `null` if it was deleted, undefined if it cannot be shown. */
  const fetchTheirs = async (): Promise<TextFile | null | undefined> => {
    try {
      const found = await readText(sandbox, place, gone.current.signal);
      if (!found) setTrouble(NO_TEXT_NOW);
      return found;
    } catch (error) {
      if ((error as Refusal).status === IS_GONE) return null;
      if (!gone.current.signal.aborted) setTrouble((error as Refusal).message);
      return undefined;
    }
  };
  const showTheirs = async () => {
    const found = await fetchTheirs();
    if (found === undefined) return;
    setTheirs(found);
    setNews(undefined);
    setAgainst(found?.text);
  };
  const write = async (over: { etag: string; lineEnd: "\n" | "\r\n" }) => {
    const written = now.current.text;
    setIsSaving(true);
    now.current.isSaving = true;
    setTrouble(undefined);
    try {
      const etag = await writeText(sandbox, place, written, over.lineEnd, over.etag);
      const saved: TextFile = { text: written, etag, lineEnd: over.lineEnd, mixed: false };
      setRead(saved);
      // Somebody may have gone on typing.
      if (now.current.text === written) drafts.delete(key);
      else drafts.set(key, { ...saved, text: now.current.text });
      setTheirs(undefined);
      setNews(undefined);
      setAgainst(undefined);
      setSaid("Saved.");
      onSaved();
    } catch (error) {
      const { status, message } = error as Refusal;
      if (status === WAS_CHANGED || status === IS_GONE) await showTheirs();
      else setTrouble(message);
    }
    setIsSaving(false);
    now.current.isSaving = false;
    if (missed.current) {
      missed.current = false;
      void look();
    }
  };

  return {
    read,
    text,
    given,
    isChanged,
    theirs,
    news,
    against,
    trouble,
    isSaving,
    said,
    change: (to) => {
      setText(to);
      // A key that saves may come before the page is drawn again.
      now.current.text = to;
      if (!read) return;
      if (to !== read.text) setSaid("");
      if (to === read.text) drafts.delete(key);
      else drafts.set(key, { ...read, text: to });
    },
    save: () => {
      const { text: newest, isSaving: isBusy } = now.current;
      if (read && newest !== read.text && !isBusy && theirs === undefined && !read.mixed) void write(read);
    },
    replace: () => {
      if (read) void write(theirs ?? { etag: "", lineEnd: read.lineEnd });
    },
    take: () => {
      if (theirs) return show(theirs);
      if (!read) return;
      show(read);
      // It may be another one by now.
      void look();
    },
    compare: async () => {
      if (!read) return;
      const found = await fetchTheirs();
      if (found === undefined) return;
      setTrouble(undefined);
      if (found?.etag === read.etag) return setAgainst(found.text);
      setTheirs(found);
      setNews(undefined);
      setAgainst(found?.text);
    },
    endComparison: () => setAgainst(undefined),
    forget: () => setTrouble(undefined),
  };
}
