import { useLayoutEffect, useRef, useState } from "preact/hooks";

import type { Refusal } from "./api";
import { below, encodePath, shownPath, writeText } from "./files_api";
import { Trouble } from "./messages";

const EXISTS = 412;

interface NewFileProps {
  sandbox: string;
  directory: string;
  onMade: (place: string) => void;
  onClose: () => void;
}

/** Makes an empty file. */
export function NewFile({ sandbox, directory, onMade, onClose }: NewFileProps) {
  const [name, setName] = useState("");
  const [trouble, setTrouble] = useState<string>();
  const [isMaking, setIsMaking] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  // Before the next key.
  useLayoutEffect(() => input.current?.focus(), []);

  const make = async (event: Event) => {
    event.preventDefault();
    if (name.split("/").some((part) => part === "" || part === "." || part === "..")) return setTrouble("This is not a name of a file.");
    setIsMaking(true);
    try {
      const place = below(directory, encodePath(name));
      await writeText(sandbox, place, "", "\n", "");
      onMade(place);
    } catch (error) {
      const { status, message } = error as Refusal;
      setTrouble(status === EXISTS ? "There is a file of this name." : message);
      setIsMaking(false);
    }
  };
  return (
    <form class="bar" onSubmit={(event) => void make(event)} onKeyDown={(event) => event.key === "Escape" && onClose()}>
      {trouble && <Trouble text={trouble} />}
      <label for="new-file">Name in {shownPath(directory) || "/"}</label>
      <input id="new-file" class="field" ref={input} required spellcheck={false} autocomplete="off" value={name} onInput={(event) => setName(event.currentTarget.value)} />
      <button class="main" disabled={isMaking}>
        {isMaking ? "Making…" : "Make"}
      </button>
      <button type="button" onClick={onClose}>
        Cancel
      </button>
    </form>
  );
}
