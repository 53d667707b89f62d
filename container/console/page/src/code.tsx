import { defaultKeymap, history, historyField, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { getChunks, goToNextChunk, goToPreviousChunk, unifiedMergeView } from "@codemirror/merge";
import { search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Extension, type StateEffect } from "@codemirror/state";
import { EditorView, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { useEffect, useRef } from "preact/hooks";

import { isFree } from "./focus";
import { languageOf } from "./languages";

const LIGHT = EditorView.theme({}, { dark: false });
const DARK = EditorView.theme({}, { dark: true });
const isDark = matchMedia("(prefers-color-scheme: dark)");
/** A difference is found in so many milliseconds, or told roughly. */
const LONGEST_COMPARISON = 300;

/** A line of a text, from 1, for a person who goes on there. */
export interface Line {
  line: number;
}

/** How a person left a text: its cursor, its history for Ctrl-Z, and what was in sight. */
interface Left {
  state: unknown;
  sight: StateEffect<unknown> | undefined;
}

const lefts = new Map<string, Left>();
const MOST_LEFT = 20;

function leave(key: string, left: Left): void {
  lefts.delete(key);
  lefts.set(key, left);
  for (const oldest of lefts.keys()) if (lefts.size > MOST_LEFT) lefts.delete(oldest);
}

interface CodeProps {
  label: string;
  /** Tells texts apart: one that is shown again is as it was left. */
  remembers?: string;
  /** The name of the file tells the language. */
  name: string;
  /** The text. Another object replaces what is there; what is typed is told by `onChange` alone, which may come faster than it is drawn. */
  given: { text: string };
  readOnly?: boolean;
  /** Shows how the text differs from this one. */
  against?: string | undefined;
  /** The keyboard goes on at the first difference. */
  entersDifference?: boolean;
  /** The line to go to. Another object goes there again. */
  at?: Line | undefined;
  /** The id of an element that tells more. */
  describedBy?: string;
  onChange?: (text: string) => void;
  onSave?: () => void;
}

/** The words of the search, as the rest of the page has them. */
const WORDS = {
  next: "Next",
  previous: "Previous",
  all: "All",
  "match case": "Match case",
  regexp: "Regular expression",
  "by word": "Whole words",
  replace: "Replace",
  "replace all": "Replace all",
};

/** What one level of a text is indented by. Make takes tabs alone. */
function unitOf(name: string, text: string): string {
  if (/^(gnu)?makefile$|\.mk$/i.test(name)) return "\t";
  const first = /^(\t| {2,8})\S/m.exec(text);
  return first?.[1] ?? (/\.go$/.test(name) ? "\t" : "    ");
}

/** A bracket that closes goes back to its level when it is typed. */
const closes = EditorState.languageData.of(() => [{ indentOnInput: /^\s*[\])}]$/ }]);

/** The part of `before` that is not in `after`, and what is there instead: the cursor stays where it can. */
function changeTo(before: string, after: string): { from: number; to: number; insert: string } {
  let from = 0;
  const least = Math.min(before.length, after.length);
  while (from < least && before[from] === after[from]) ++from;
  let end = 0;
  while (end < least - from && before[before.length - 1 - end] === after[after.length - 1 - end]) ++end;
  return { from, to: before.length - end, insert: after.slice(from, after.length - end) };
}

/** A button for a part that differs: the file has it another way. */
function takeButton(type: "reject" | "accept", take: (event: MouseEvent) => void): HTMLElement {
  if (type === "accept") return document.createElement("span");
  const button = document.createElement("button");
  button.textContent = "Take the file's lines";
  button.onmousedown = take;
  button.onclick = (event) => event.detail === 0 && take(event);
  return button;
}

function difference(original: string, readOnly: boolean): Extension {
  return unifiedMergeView({
    original,
    mergeControls: readOnly ? false : takeButton,
    diffConfig: { timeout: LONGEST_COMPARISON, scanLimit: 5_000 },
  });
}

/** Text with the colours of its language, which can be edited. Escape and then Tab leaves it. */
export function Code(props: CodeProps) {
  const { label, remembers, name, given, readOnly = false, against, at, describedBy } = props;
  const place = useRef<HTMLDivElement>(null);
  const shown = useRef<EditorView>(undefined);
  const compared = useRef(new Compartment());
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => {
    if (!place.current) return;
    const theme = new Compartment();
    const before = remembers === undefined ? undefined : lefts.get(remembers);
    // A text that leaves the page has no place in it any more.
    let sight = before?.sight;
    const extensions = [
      theme.of(isDark.matches ? DARK : LIGHT),
      lineNumbers(),
      highlightSpecialChars(),
      history(),
      indentOnInput(),
      closes,
      bracketMatching(),
      search({ top: true }),
      EditorState.phrases.of(WORDS),
      indentUnit.of(unitOf(name, given.text)),
      EditorState.tabSize.of(4),
      EditorState.readOnly.of(readOnly),
      EditorView.contentAttributes.of({
        "aria-label": label,
        ...(describedBy ? { "aria-describedby": describedBy } : {}),
        ...(readOnly ? { tabindex: "0" } : {}),
        spellcheck: "false",
      }),
      syntaxHighlighting(classHighlighter),
      languageOf(name, given.text) ?? [],
      compared.current.of([]),
      keymap.of([
        { key: "Mod-s", run: () => (latest.current.onSave?.(), true) },
        { key: "Escape", run: (one) => (one.setTabFocusMode(true), false) },
        { key: "F7", run: goToNextChunk, shift: goToPreviousChunk },
        ...searchKeymap,
        ...defaultKeymap,
        ...historyKeymap,
        indentWithTab,
      ]),
      EditorView.domEventHandlers({
        keydown: (event, one) => {
          if (!["Escape", "Tab", "Shift"].includes(event.key)) one.setTabFocusMode(false);
        },
        blur: (_, one) => one.setTabFocusMode(false),
        scroll: (_, one) => void (sight = one.scrollSnapshot()),
      }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) latest.current.onChange?.(update.state.doc.toString());
      }),
    ];
    const view = new EditorView({
      parent: place.current,
      state: before ? EditorState.fromJSON(before.state, { extensions }, { history: historyField }) : EditorState.create({ doc: given.text, extensions }),
      ...(sight ? { scrollTo: sight } : {}),
    });
    shown.current = view;
    if (before && isFree(document.activeElement)) view.focus();
    const paint = () => view.dispatch({ effects: theme.reconfigure(isDark.matches ? DARK : LIGHT) });
    isDark.addEventListener("change", paint);
    return () => {
      isDark.removeEventListener("change", paint);
      shown.current = undefined;
      if (remembers !== undefined) leave(remembers, { state: view.state.toJSON({ history: historyField }), sight });
      view.destroy();
    };
  }, [name, label, readOnly]);

  useEffect(() => {
    const view = shown.current;
    const now = view?.state.doc.toString();
    if (view && now !== undefined && now !== given.text) view.dispatch({ changes: changeTo(now, given.text) });
  }, [given]);
  useEffect(() => {
    const view = shown.current;
    if (!view) return;
    // The text to compare with stays while the extension does.
    view.dispatch({ effects: compared.current.reconfigure([]) });
    if (against === undefined) return;
    view.dispatch({ effects: compared.current.reconfigure(difference(against, readOnly)) });
    const first = getChunks(view.state)?.chunks[0];
    if (!first) return;
    const from = Math.min(first.fromB, view.state.doc.length);
    view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
    // F7 goes on from here.
    if (latest.current.entersDifference) view.focus();
  }, [against, name, label, readOnly]);
  useEffect(() => {
    const view = shown.current;
    if (!view || !at) return;
    const { from, to } = view.state.doc.line(Math.min(Math.max(1, at.line), view.state.doc.lines));
    view.dispatch({ selection: { anchor: from, head: to }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
    view.focus();
  }, [at, name]);

  return <div class="code" ref={place} />;
}
