import { useRef, useState } from "preact/hooks";

import { Editor } from "./editor";
import { type Entry, lastName, shownPath } from "./files_api";
import { Grep } from "./grep";
import { Trouble } from "./messages";
import { TransferList, useTransfers } from "./transfers";
import { TreeView, useTree } from "./tree";

/** Files that were dropped. `directories`: how many directories are left out. */
function dropped(event: DragEvent): { files: File[]; directories: number } {
  const items = [...(event.dataTransfer?.items ?? [])].filter(({ kind }) => kind === "file");
  const isDirectory = (item: DataTransferItem) => item.webkitGetAsEntry()?.isDirectory === true;
  const files = items.filter((item) => !isDirectory(item)).map((item) => item.getAsFile());
  return { files: files.filter((one) => one !== null), directories: items.filter(isDirectory).length };
}

/** The files of a sandbox's default session. */
export function Files({ sandbox }: { sandbox: string }) {
  const tree = useTree(sandbox);
  const transfers = useTransfers(sandbox, tree.refresh);
  /** Where uploads go, and below which the search looks. */
  const [directory, setDirectory] = useState("");
  const [file, setFile] = useState<{ place: string; type: string; line?: number }>();
  const [isOver, setIsOver] = useState(false);
  const [trouble, setTrouble] = useState<string>();
  const picker = useRef<HTMLInputElement>(null);

  const choose = (entry: Entry) => {
    if (entry.type === "directory") return setDirectory(entry.place);
    setDirectory(entry.place.split("/").slice(0, -1).join("/"));
    setFile({ place: entry.place, type: entry.type });
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setIsOver(false);
    const { files, directories } = dropped(event);
    setTrouble(directories > 0 ? "Directories are not uploaded. Drop their files, or use `skiff cp`." : undefined);
    transfers.upload(directory, files);
  };
  const shown = shownPath(directory) || "/";
  return (
    <section
      class={isOver ? "files over" : "files"}
      onDragOver={(event) => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={drop}
    >
      <div class="side">
        <div class="bar">
          <button onClick={() => picker.current?.click()}>Upload</button>
          <button onClick={() => transfers.download(directory, true)}>Download as tar</button>
          <button onClick={tree.refresh}>Refresh</button>
          <input
            ref={picker}
            type="file"
            multiple
            hidden
            onChange={(event) => {
              transfers.upload(directory, [...(event.currentTarget.files ?? [])]);
              event.currentTarget.value = "";
            }}
          />
        </div>
        <p class="faint where">
          In <code>{shown}</code>; files can be dropped here
        </p>
        {(trouble ?? tree.trouble) && <Trouble text={trouble ?? tree.trouble ?? ""} onClose={() => setTrouble(undefined)} />}
        <TransferList transfers={transfers} />
        <TreeView tree={tree} chosen={file?.place ?? directory} onChoose={choose} />
        <Grep sandbox={sandbox} directory={directory} onOpen={({ place, line }) => setFile({ place, type: "file", line })} />
      </div>
      <div class="file">
        {!file && <p class="faint">Choose a file to see it.</p>}
        {file && (
          <>
            <div class="bar">
              <h2>{shownPath(lastName(file.place))}</h2>
              <button onClick={() => transfers.download(file.place, false)}>Download</button>
            </div>
            {file.type === "file" || file.type === "symlink" ? (
              <Editor key={file.place} sandbox={sandbox} place={file.place} line={file.line} onSaved={tree.refresh} />
            ) : (
              <p class="faint">It is a {file.type.replace("_", " ")}.</p>
            )}
          </>
        )}
      </div>
    </section>
  );
}
