import { useEffect } from "preact/hooks";

import { Code, type Line } from "./code";
import { lastName, shownPath } from "./files_api";
import { Trouble } from "./messages";
import { type EditedFile, useEditedFile } from "./text_file";

interface EditorProps {
  sandbox: string;
  place: string;
  at: Line | undefined;
  /** It changes when the file may have changed. */
  turn: number;
  onSaved: () => void;
}

/** What happened to the file meanwhile. */
function News({ file }: { file: EditedFile }) {
  if (file.theirs !== undefined) {
    return (
      <div class="trouble" role="alert">
        <p>{file.theirs ? "The file was changed meanwhile. Your text was not saved." : "The file was deleted meanwhile. Your text was not saved."}</p>
      </div>
    );
  }
  if (!file.news) return null;
  return (
    <div class="trouble" role="status">
      <p>
        {file.news === "changed" && "Somebody has changed the file. Your text is kept, and is not saved."}
        {file.news === "deleted" && (file.isChanged ? "The file was deleted. Your text is kept, and is not saved." : "The file was deleted. This was its text.")}
      </p>
      <button onClick={file.compare}>{file.news === "changed" ? "Show both" : "Write it anew…"}</button>
    </div>
  );
}

function Buttons({ file }: { file: EditedFile }) {
  const { isChanged, isSaving, theirs, read } = file;
  if (theirs !== undefined) {
    return (
      <>
        <button class="danger" disabled={isSaving} onClick={file.replace}>
          {theirs ? "Replace the file with your text" : "Write your text to a new file"}
        </button>
        {theirs && (
          <button disabled={isSaving} onClick={file.take}>
            Take the file, drop your text
          </button>
        )}
      </>
    );
  }
  return (
    <>
      <button class="main" disabled={!isChanged || isSaving || read?.mixed} onClick={file.save}>
        {isSaving ? "Saving…" : "Save"}
      </button>
      <button disabled={!isChanged || isSaving} aria-pressed={file.against !== undefined} onClick={file.against === undefined ? file.compare : file.endComparison}>
        Show changes
      </button>
      <button disabled={!isChanged || isSaving} onClick={file.take}>
        Undo all changes
      </button>
    </>
  );
}

/** A text file. It is saved only over the text that was read; otherwise both texts are shown. */
export function Editor({ sandbox, place, at, turn, onSaved }: EditorProps) {
  const file = useEditedFile(sandbox, place, turn, onSaved);
  const { read, theirs, save } = file;
  useEffect(() => {
    // Elsewhere in the view the browser would save the page.
    const pressed = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "s" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.defaultPrevented) return;
      event.preventDefault();
      save();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [save]);
  if (read === undefined) {
    if (file.trouble) return <Trouble text={file.trouble} />;
    return (
      <p class="loading" role="status">
        Loading…
      </p>
    );
  }
  if (read === null) return <p class="faint">This is not a text in UTF-8. Download it to see it.</p>;

  const path = shownPath(place);
  const name = shownPath(lastName(place));
  return (
    <div class="editor">
      {file.trouble && <Trouble text={file.trouble} onClose={file.forget} />}
      <News file={file} />
      {read.mixed && <p class="faint">Its lines end in different ways, which an edit would change: it is only shown.</p>}
      <div class="texts">
        <div>
          {theirs && <h3>Your text, and how it differs</h3>}
          <Code
            key={place}
            label={path}
            remembers={`${sandbox} ${place}`}
            name={name}
            given={file.given}
            readOnly={read.mixed}
            against={file.against}
            entersDifference={theirs === undefined}
            at={at}
            describedBy="editor-keys"
            onChange={file.change}
            onSave={file.save}
          />
        </div>
        {theirs && (
          <div>
            <h3>The file now</h3>
            <Code label="The file now" name={name} given={theirs} readOnly />
          </div>
        )}
      </div>
      <div class="bar">
        <Buttons file={file} />
        <span class="faint" role="status">
          {file.isChanged ? "Not saved" : file.said}
        </span>
        <span class="faint keys" id="editor-keys">
          {file.against !== undefined && (
            <>
              <kbd>F7</kbd> next,{" "}
            </>
          )}
          <kbd>Esc</kbd> <kbd>Tab</kbd> leaves
        </span>
      </div>
    </div>
  );
}
