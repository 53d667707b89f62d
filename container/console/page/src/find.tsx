import type { SearchAddon } from "@xterm/addon-search";
import { useState } from "preact/hooks";

interface FindProps {
  addon: () => SearchAddon | undefined;
  /** Escape leads back to the terminal. */
  onLeave: () => void;
}

/** Finds text in what a terminal keeps; Enter goes up to earlier output, Shift-Enter down. */
export function Find({ addon, onLeave }: FindProps) {
  const [text, setText] = useState("");
  const [isMissing, setIsMissing] = useState(false);

  const go = (to: "earlier" | "later", wanted = text, stays = false) => {
    const search = addon();
    if (!search) return;
    if (!wanted) {
      search.clearDecorations();
      return setIsMissing(false);
    }
    setIsMissing(to === "earlier" ? !search.findPrevious(wanted, { incremental: stays }) : !search.findNext(wanted));
  };
  return (
    <form
      class="find"
      role="search"
      aria-label="Search in the output"
      onSubmit={(event) => {
        event.preventDefault();
        go("earlier");
      }}
    >
      <input
        class="field"
        type="search"
        aria-label="Text to find in the output"
        placeholder="Find in the output"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          go("earlier", event.currentTarget.value, true);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && event.shiftKey) {
            event.preventDefault();
            go("later");
          } else if (event.key === "Escape") {
            event.preventDefault();
            onLeave();
          }
        }}
      />
      <button disabled={!text}>Earlier</button>
      <button type="button" disabled={!text} onClick={() => go("later")}>
        Later
      </button>
      <span class="faint" role="status">
        {isMissing && "Not found"}
      </span>
    </form>
  );
}
