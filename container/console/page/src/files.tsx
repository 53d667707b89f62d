import { useEffect, useRef, useState } from "preact/hooks";

import type { Line } from "./code";
import { dropped } from "./dropped";
import { Editor } from "./editor";
import { encodePath, type Entry, lastName, shownPath } from "./files_api";
import { Grep } from "./grep";
import { leave, leftOf } from "./left";
import { Trouble } from "./messages";
import { NewFile } from "./new_file";
import { unsaved } from "./text_file";
import { TransferList, useTransfers } from "./transfers";
import { TreeView, useTree } from "./tree";
import { FileWatch } from "./watch";

const directoryOf = (place: string) => place.split("/").slice(0, -1).join("/");

interface Live {
  is: boolean;
  why?: string | undefined;
}

/** Tells what others change. A name that is not UTF-8 is not told exactly: then all is read again. */
function useChanges(sandbox: string, onChanged: (places: ReadonlySet<string>) => void, onGap: () => void): Live {
  const [live, setLive] = useState<Live>({ is: true });
  const latest = useRef({ onChanged, onGap });
  latest.current = { onChanged, onGap };
  useEffect(() => {
    const watch = new FileWatch(sandbox, {
      changed: (paths) => {
        if (paths.some((path) => path.includes("\uFFFD"))) latest.current.onGap();
        else latest.current.onChanged(new Set(paths.map(encodePath)));
      },
      gap: () => latest.current.onGap(),
      told: (is, why) => setLive((before) => ({ is, why: is ? undefined : (why ?? before.why) })),
    });
    return () => watch.close();
  }, [sandbox]);
  return live;
}

interface Shown {
  place: string;
  type: string;
  /** Where to go on, if a person has asked for it. */
  at?: Line;
}

/** The files of a sandbox's default session. `uid` tells sandboxes of one name apart. */
export function Files({ sandbox, uid }: { sandbox: string; uid: string }) {
  const tree = useTree(sandbox, leftOf(uid).open, (open) => leave(uid, { open: [...open] }));
  const transfers = useTransfers(sandbox, tree.refresh);
  /** Where uploads go, and below which the search looks. */
  const [directory, setDirectory] = useState(leftOf(uid).directory ?? "");
  const [file, setFile] = useState<Shown | undefined>(leftOf(uid).file);
  const [isOver, setIsOver] = useState(false);
  const [makes, setMakes] = useState(false);
  const [trouble, setTrouble] = useState<string>();
  const picker = useRef<HTMLInputElement>(null);
  /** It changes when the shown file may have changed. */
  const [turn, setTurn] = useState(0);
  const live = useChanges(
    sandbox,
    (places) => {
      tree.changed(new Set([...places].map(directoryOf)));
      if (file && places.has(file.place)) setTurn((count) => count + 1);
    },
    () => {
      tree.refresh();
      setTurn((count) => count + 1);
    },
  );

  const shownFile = useRef<HTMLDivElement>(null);
  // On a narrow page the file is below the tree.
  useEffect(() => {
    const element = shownFile.current;
    if (file && element && element.getBoundingClientRect().top > innerHeight / 2) element.scrollIntoView();
  }, [file?.place]);

  useEffect(() => {
    // The person does not go on there by coming back.
    leave(uid, { directory, file: file && { place: file.place, type: file.type } });
  }, [directory, file]);

  const show = (one: Shown) => {
    setFile(one);
    tree.reveal(one.place);
  };
  const choose = (entry: Entry) => {
    if (entry.type === "directory") return setDirectory(entry.place);
    setDirectory(directoryOf(entry.place));
    show({ place: entry.place, type: entry.type });
  };
  const drop = async (event: DragEvent) => {
    event.preventDefault();
    setIsOver(false);
    setTrouble(undefined);
    try {
      const files = await dropped(event);
      if (files) transfers.upload(directory, files);
      else setTrouble("These are more than 1,000 files. Use `skiff cp`, which sends them as one.");
    } catch {
      setTrouble("The browser could not read what was dropped. Nothing was uploaded.");
    }
  };
  const shown = shownPath(directory) || "/";
  const others = unsaved(sandbox).filter((place) => place !== file?.place);
  return (
    <section
      class={isOver ? "files over" : "files"}
      onDragOver={(event) => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={(event) => void drop(event)}
    >
      <div class="side">
        <div class="bar">
          <button onClick={() => setMakes(true)}>New file</button>
          <button onClick={() => picker.current?.click()}>Upload</button>
          <button onClick={() => transfers.download(directory, true)}>Download as tar</button>
          {!live.is && <button onClick={tree.refresh}>Refresh</button>}
          <input
            ref={picker}
            type="file"
            multiple
            hidden
            onChange={(event) => {
              transfers.upload(
                directory,
                [...(event.currentTarget.files ?? [])].map((file) => ({ path: file.name, file })),
              );
              event.currentTarget.value = "";
            }}
          />
        </div>
        <p class="faint where">
          In <code>{shown}</code>; files and directories can be dropped here
        </p>
        {!live.is && (
          <p class="faint where" role="status">
            What others change is not shown now. {live.why}
          </p>
        )}
        {(trouble ?? tree.trouble) && <Trouble text={trouble ?? tree.trouble ?? ""} onClose={() => setTrouble(undefined)} />}
        {makes && (
          <NewFile
            key={directory}
            sandbox={sandbox}
            directory={directory}
            onClose={() => setMakes(false)}
            onMade={(place) => {
              setMakes(false);
              setDirectory(directoryOf(place));
              show({ place, type: "file", at: { line: 1 } });
              tree.refresh();
            }}
          />
        )}
        <TransferList transfers={transfers} />
        {others.length > 0 && (
          <p class="where">
            Not saved:{" "}
            {others.map((place) => (
              <button key={place} class="quiet" onClick={() => show({ place, type: "file" })}>
                {shownPath(place)}
              </button>
            ))}
          </p>
        )}
        <TreeView tree={tree} chosen={file?.place ?? directory} onChoose={choose} />
        <Grep sandbox={sandbox} directory={directory} onOpen={({ place, line }) => show({ place, type: "file", at: { line } })} />
      </div>
      <div class="file" ref={shownFile}>
        {!file && <p class="faint">Choose a file to see and edit it, or make a new one.</p>}
        {file && (
          <>
            <div class="bar">
              <button class="narrow" onClick={(event) => event.currentTarget.closest(".files")?.querySelector<HTMLElement>('.tree [tabindex="0"]')?.focus()}>
                All files
              </button>
              <h2>
                {directoryOf(file.place) && <span class="faint">{shownPath(directoryOf(file.place))}/</span>}
                {shownPath(lastName(file.place))}
              </h2>
              <button onClick={() => transfers.download(file.place, false)}>Download</button>
            </div>
            {file.type === "file" || file.type === "symlink" ? (
              <Editor key={file.place} sandbox={sandbox} place={file.place} at={file.at} turn={turn} onSaved={tree.refresh} />
            ) : (
              <p class="faint">It is a {file.type.replace("_", " ")}.</p>
            )}
          </>
        )}
      </div>
    </section>
  );
}
