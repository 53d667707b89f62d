import { useEffect, useRef, useState } from "preact/hooks";

import type { Refusal } from "./api";
import { type Entry, listDirectory } from "./files_api";
import { bytes } from "./quantities";

/** The directories that were read, and which of them are open. The root is "". */
export interface Tree {
  rows: Row[];
  trouble: string | undefined;
  toggle(place: string): void;
  /** Opens the directories above the place. */
  reveal(place: string): void;
  /** Reads the next entries of a long directory. */
  more(place: string): void;
  /** Reads the open directories again. */
  refresh(): void;
  /** Reads these directories again, if they are open. */
  changed(places: ReadonlySet<string>): void;
}

export interface Row {
  kind: "directory" | "file" | "more" | "wait";
  entry: Entry;
  level: number;
  isOpen: boolean;
}

interface Directory {
  entries: Entry[];
  next: string;
}

const IS_GONE = 404;
const ROOT: Entry = { name: "/", place: "", type: "directory", size: 0 };

function sorted(entries: Entry[]): Entry[] {
  const rank = (one: Entry) => (one.type === "directory" ? 0 : 1);
  return [...entries].sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
}

function rowsOf(read: ReadonlyMap<string, Directory>, open: ReadonlySet<string>): Row[] {
  const rows: Row[] = [];
  const add = (entry: Entry, level: number) => {
    const isDirectory = entry.type === "directory";
    const isOpen = isDirectory && open.has(entry.place);
    rows.push({ kind: isDirectory ? "directory" : "file", entry, level, isOpen });
    if (!isOpen) return;
    const directory = read.get(entry.place);
    if (!directory) rows.push({ kind: "wait", entry, level: level + 1, isOpen: false });
    for (const one of sorted(directory?.entries ?? [])) add(one, level + 1);
    if (directory?.next) rows.push({ kind: "more", entry, level: level + 1, isOpen: false });
  };
  add(ROOT, 1);
  return rows;
}

const directoriesAbove = (place: string) => place.split("/").map((_, index, names) => names.slice(0, index).join("/"));

/** `left`: what was open when the tree was shown last. */
export function useTree(sandbox: string, left: string[] | undefined, onOpen: (open: ReadonlySet<string>) => void): Tree {
  const [read, setRead] = useState<ReadonlyMap<string, Directory>>(new Map());
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set(left ?? [""]));
  const [trouble, setTrouble] = useState<string>();
  const isGone = useRef(false);
  /** The newest that was read; `read` is what the last drawing had. */
  const newest = useRef(read);

  const look = async (place: string, before?: Directory) => {
    try {
      let { entries, next } = await listDirectory(sandbox, place, before?.next);
      // All that is shown is read again, also if more was shown meanwhile.
      while (!before && next && !isGone.current && entries.length < (newest.current.get(place)?.entries.length ?? 0)) {
        const page = await listDirectory(sandbox, place, next);
        entries = [...entries, ...page.entries];
        next = page.next;
      }
      if (isGone.current) return;
      newest.current = new Map(newest.current).set(place, { entries: [...(before?.entries ?? []), ...entries], next });
      setRead(newest.current);
      setTrouble(undefined);
    } catch (error) {
      if (isGone.current) return;
      // A directory that was removed goes from its parent, too.
      if (!place || (error as Refusal).status !== IS_GONE) setTrouble((error as Refusal).message);
      if (place) setOpen((all) => new Set([...all].filter((one) => one !== place)));
    }
  };
  useEffect(() => {
    for (const place of open) void look(place);
    return () => {
      isGone.current = true;
    };
  }, []);

  useEffect(() => onOpen(open), [open]);

  return {
    rows: rowsOf(read, open),
    trouble,
    toggle: (place) => {
      const opens = !open.has(place);
      setOpen((all) => (opens ? new Set([...all, place]) : new Set([...all].filter((one) => one !== place))));
      if (opens) void look(place);
    },
    reveal: (place) => {
      const closed = directoriesAbove(place).filter((one) => !open.has(one));
      if (closed.length === 0) return;
      setOpen((all) => new Set([...all, ...closed]));
      for (const one of closed) void look(one);
    },
    more: (place) => void look(place, newest.current.get(place)),
    refresh: () => {
      for (const place of open) void look(place);
    },
    changed: (places) => {
      for (const place of open) if (places.has(place)) void look(place);
    },
  };
}

interface TreeViewProps {
  tree: Tree;
  /** The chosen file or directory. */
  chosen: string | undefined;
  onChoose: (entry: Entry) => void;
}

const keyOf = (row: Row) => `${row.kind === "more" || row.kind === "wait" ? row.kind : "entry"} ${row.entry.place}`;

/** The tree of WAI-ARIA's practices: arrows move and open, Enter chooses, and Tab leaves it. */
export function TreeView({ tree, chosen, onChoose }: TreeViewProps) {
  const [at, setAt] = useState("entry ");
  const element = useRef<HTMLUListElement>(null);
  const { rows } = tree;
  const isListed = rows.some((row) => row.kind === "file" && row.entry.place === chosen);
  useEffect(() => {
    if (isListed) element.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [isListed, chosen]);
  const index = Math.max(
    0,
    rows.findIndex((row) => keyOf(row) === at),
  );

  const go = (to: number) => {
    const row = rows[to];
    if (!row) return;
    setAt(keyOf(row));
    element.current?.querySelectorAll<HTMLElement>('[role="treeitem"]')[to]?.focus();
  };
  const act = (row: Row) => {
    setAt(keyOf(row));
    if (row.kind === "more") tree.more(row.entry.place);
    else if (row.kind !== "wait") {
      onChoose(row.entry);
      if (row.kind === "directory") tree.toggle(row.entry.place);
    }
  };
  const pressed = (event: KeyboardEvent) => {
    const row = rows[index];
    if (!row || event.ctrlKey || event.altKey || event.metaKey) return;
    const parent = rows.findLastIndex((one, place) => place < index && one.level < row.level);
    const deeds: Record<string, () => void> = {
      ArrowDown: () => go(index + 1),
      ArrowUp: () => go(index - 1),
      Home: () => go(0),
      End: () => go(rows.length - 1),
      ArrowRight: () => (row.isOpen ? go(index + 1) : row.kind === "directory" && tree.toggle(row.entry.place)),
      ArrowLeft: () => (row.isOpen ? tree.toggle(row.entry.place) : go(parent)),
      Enter: () => act(row),
      " ": () => act(row),
    };
    const deed = deeds[event.key];
    if (!deed) return;
    event.preventDefault();
    deed();
  };

  return (
    <ul class="tree" role="tree" aria-label="Files" ref={element} onKeyDown={pressed}>
      {rows.map((row, place) => (
        <li
          key={keyOf(row)}
          role="treeitem"
          aria-level={row.level}
          aria-expanded={row.kind === "directory" ? row.isOpen : undefined}
          aria-selected={row.kind !== "more" && row.kind !== "wait" && row.entry.place === chosen}
          tabIndex={place === index ? 0 : -1}
          class={`of-${row.kind}`}
          style={{ paddingLeft: `${row.level * 14 - 4}px` }}
          onClick={() => act(row)}
        >
          {row.kind === "more" && "Show more…"}
          {row.kind === "wait" && "Loading…"}
          {(row.kind === "directory" || row.kind === "file") && (
            <>
              <span class="name">{row.entry.name}</span>
              {row.entry.target !== undefined && <span class="faint"> → {row.entry.target}</span>}
              {row.entry.type === "file" && <span class="faint size">{bytes(row.entry.size)}</span>}
            </>
          )}
        </li>
      ))}
    </ul>
  );
}
