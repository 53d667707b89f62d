/** A file to upload, and its path below the directory to which it goes. */
export interface Dropped {
  path: string;
  file: File;
}

/** More would keep the page busy for long; `skiff cp` sends them as one stream. */
const MOST_FILES = 1_000;

/** The next entries of a directory; none: it has no more. */
const entriesOf = (reader: FileSystemDirectoryReader) =>
  new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
const fileOf = (entry: FileSystemFileEntry) => new Promise<File>((resolve, reject) => entry.file(resolve, reject));

async function collect(entry: FileSystemEntry, found: Dropped[]): Promise<void> {
  if (found.length > MOST_FILES) return;
  if (entry.isFile) found.push({ path: entry.fullPath.replace(/^\//, ""), file: await fileOf(entry as FileSystemFileEntry) });
  if (!entry.isDirectory) return;
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (let entries = await entriesOf(reader); entries.length > 0; entries = await entriesOf(reader)) {
    for (const one of entries) await collect(one, found);
  }
}

/** The files of a drop, also those in directories; undefined if there are too many. */
export async function dropped(event: DragEvent): Promise<Dropped[] | undefined> {
  const items = [...(event.dataTransfer?.items ?? [])].filter(({ kind }) => kind === "file");
  // The browser forgets them when the event is over.
  const taken = items.map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  const found: Dropped[] = [];
  for (const { entry, file } of taken) {
    if (entry) await collect(entry, found);
    else if (file) found.push({ path: file.name, file });
  }
  return found.length > MOST_FILES ? undefined : found;
}
