import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { type ITheme, Terminal } from "@xterm/xterm";
import { useEffect, useRef, useState } from "preact/hooks";

import type { Command, Refusal } from "./api";
import { Find } from "./find";
import { isFree } from "./focus";
import { Trouble } from "./messages";
import { CommandOutput } from "./output";

const LIGHT: ITheme = {
  background: "#ffffff",
  foreground: "#1c2529",
  cursor: "#0f5a64",
  cursorAccent: "#ffffff",
  selectionBackground: "#b8dde2",
};
const DARK: ITheme = {
  background: "#10171a",
  foreground: "#dfe7ea",
  cursor: "#6fc6d2",
  cursorAccent: "#10171a",
  selectionBackground: "#2c5860",
};
const isDark = matchMedia("(prefers-color-scheme: dark)");
const LEAVE = "F6";

/** True for Ctrl-Shift and the letter. */
function isShortcut(event: KeyboardEvent, letter: string): boolean {
  return event.ctrlKey && event.shiftKey && event.key.toLowerCase() === letter;
}

/**
 * What the output of earlier asks the terminal was answered then: the terminal answers no query before the returned
 * function is called. Keys are not affected.
 */
function answersNothing(terminal: Terminal): () => void {
  let isLive = false;
  const skips = () => !isLive;
  const asks = (data: string) => !isLive && data.includes("?");
  const { parser } = terminal;
  for (const id of [
    { final: "c" },
    { prefix: ">", final: "c" },
    { prefix: "=", final: "c" },
    { prefix: ">", final: "q" },
    { final: "n" },
    { prefix: "?", final: "n" },
    { intermediates: "$", final: "p" },
    { prefix: "?", intermediates: "$", final: "p" },
    { final: "t" },
    { prefix: "?", final: "u" },
  ])
    parser.registerCsiHandler(id, skips);
  parser.registerDcsHandler({ intermediates: "$", final: "q" }, skips);
  parser.registerDcsHandler({ intermediates: "+", final: "q" }, skips);
  for (const id of [4, 10, 11, 12]) parser.registerOscHandler(id, asks);
  return () => {
    isLive = true;
  };
}

const MOST_TIMES = 1_000;

/** What does something very often, such as to repeat a character two thousand million times, would stop the page: it is left out. */
function doesNothingTooOften(terminal: Terminal): void {
  for (const final of "bLMSTIZ@PX") terminal.parser.registerCsiHandler({ final }, ([times]) => Number(times) > MOST_TIMES);
  for (const final of "@A") terminal.parser.registerCsiHandler({ intermediates: " ", final }, ([times]) => Number(times) > MOST_TIMES);
  for (const final of "}~") terminal.parser.registerCsiHandler({ intermediates: "'", final }, ([times]) => Number(times) > MOST_TIMES);
}

interface ScreenProps {
  sandbox: string;
  command: string;
  label: string;
  /** The output of a command is shown, and nothing can be typed. */
  readOnly?: boolean;
  onTitle?: (title: string) => void;
  onEnd?: (command: Command) => void;
  /** F6 leaves the terminal, which takes all other keys. */
  onLeave?: () => void;
}

/** The output of a command in a terminal. */
export function Screen(props: ScreenProps) {
  const { sandbox, command, label, readOnly = false } = props;
  const place = useRef<HTMLDivElement>(null);
  const shown = useRef<{ terminal: Terminal; search: SearchAddon } | undefined>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const [state, setState] = useState<"loading" | "live" | "cut" | "ended">("loading");
  const [trouble, setTrouble] = useState<Refusal>();

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    setState("loading");
    setTrouble(undefined);
    const terminal = new Terminal({
      fontFamily: 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace',
      fontSize: 13,
      scrollback: 10_000,
      disableStdin: readOnly,
      convertEol: readOnly,
      cursorBlink: !readOnly && !matchMedia("(prefers-reduced-motion: reduce)").matches,
      cursorInactiveStyle: readOnly ? "none" : "outline",
      minimumContrastRatio: 4.5,
      screenReaderMode: true,
      theme: isDark.matches ? DARK : LIGHT,
    });
    const fit = new FitAddon();
    const search = new SearchAddon();
    terminal.loadAddon(fit);
    terminal.loadAddon(search);
    shown.current = { terminal, search };
    const becomesLive = answersNothing(terminal);
    doesNothingTooOften(terminal);
    terminal.open(element);
    terminal.textarea?.setAttribute("aria-label", label);
    const note = (text: string) => terminal.write(`\r\n\x1b[2m[${text}]\x1b[0m\r\n`);

    const output = new CommandOutput(sandbox, command, {
      bytes: (bytes, taken) => terminal.write(bytes, taken),
      gap: (from, to) => note(`${to - from} bytes of output are not kept any more`),
      isLive: () => {
        becomesLive();
        setState("live");
        if (!readOnly && isFree(document.activeElement)) terminal.focus();
      },
      connected: (is) => setState((before) => (before === "loading" && !is ? "loading" : is ? "live" : "cut")),
      ended: (ended) => {
        terminal.options.disableStdin = true;
        setState("ended");
        latest.current.onEnd?.(ended);
      },
      failed: (error) => {
        terminal.options.disableStdin = true;
        setTrouble(error);
      },
    });

    const encoder = new TextEncoder();
    terminal.onData((text) => output.type(encoder.encode(text)));
    terminal.onBinary((text) => output.type(Uint8Array.from(text, (one) => one.charCodeAt(0))));
    terminal.onTitleChange((title) => latest.current.onTitle?.(title));
    terminal.attachCustomKeyEventHandler((event) => {
      if (event.key === LEAVE && latest.current.onLeave) {
        if (event.type === "keydown") latest.current.onLeave();
        event.preventDefault();
        return false;
      }
      if (isShortcut(event, "f")) {
        if (event.type === "keydown") element.parentElement?.querySelector<HTMLElement>(".find input")?.focus();
        event.preventDefault();
        return false;
      }
      const copies = isShortcut(event, "c");
      if (copies && event.type === "keydown" && terminal.hasSelection()) {
        void navigator.clipboard.writeText(terminal.getSelection());
        event.preventDefault();
      }
      return !copies;
    });

    const resize = new ResizeObserver(() => {
      if (element.clientWidth === 0) return;
      fit.fit();
      if (!readOnly) output.resize(terminal.cols, terminal.rows);
    });
    resize.observe(element);
    const paint = () => (terminal.options.theme = isDark.matches ? DARK : LIGHT);
    isDark.addEventListener("change", paint);
    return () => {
      isDark.removeEventListener("change", paint);
      resize.disconnect();
      output.close();
      shown.current = undefined;
      terminal.dispose();
    };
  }, [sandbox, command, readOnly]);

  return (
    <div class="screen">
      {trouble && <Trouble text={trouble.message} />}
      <div ref={place} class="glass" role="region" aria-label={label} />
      <Find addon={() => shown.current?.search} onLeave={() => shown.current?.terminal.focus()} />
      <p class="connection" role="status">
        {state === "loading" && !trouble && "Loading the output…"}
        {state === "cut" && "The connection is cut. Connecting again; what you type is kept."}
      </p>
    </div>
  );
}
