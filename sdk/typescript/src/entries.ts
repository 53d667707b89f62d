import { textOf } from "./base64.js";
import type { components } from "./schemas.js";

type Schemas = components["schemas"];

/** A file, a directory or a link. */
export interface FileEntry {
  /** Below the root of the session, in the form of the requested path. */
  readonly path: string;
  readonly name: string;
  readonly type: Schemas["FileType"];
  /** Bytes. */
  readonly size: number;
  /** Octal, for example "0644". */
  readonly mode: string;
  readonly uid: number;
  readonly gid: number;
  readonly modifiedAt: Date;
  /** The target of a symbolic link. */
  readonly target: string | undefined;
  /** Changes with the content. */
  readonly etag: string | undefined;
}

/** An edited file. */
export interface EditedFile extends FileEntry {
  /** The change as a unified diff. */
  readonly diff: string;
  /** True: the diff is too long, and this is its beginning. */
  readonly diffCut: boolean;
}

/** A line that matches. */
export interface Match {
  readonly path: string;
  /** From 1. */
  readonly lineNumber: number;
  /** Position of the first byte of the match in the line, from 1. */
  readonly column: number;
  /** The line without its end. */
  readonly text: string;
  /** True: the line is too long, and `text` is the part around the match. */
  readonly cut: boolean;
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** Found things, and what a search has left out. */
export type Found<T> = T[] & {
  /** There may be more: the limit was reached. */
  truncated: boolean;
  /** Files and directories that could not be read. */
  unreadable: number;
};

/** A change below a watched directory. */
export interface Change {
  /** `overflow`: changes were lost, list the directory again. */
  readonly type: Exclude<Schemas["WatchEventType"], "watching">;
  readonly path: string;
  /** The path before, with `renamed`. */
  readonly from: string | undefined;
  readonly isDirectory: boolean;
  /** `watch({ cursor })` continues behind this change. */
  readonly cursor: number;
}

export function entryOf(wire: Schemas["FileEntry"]): FileEntry {
  return {
    path: textOf(wire.path, wire.path_base64),
    name: textOf(wire.name, wire.name_base64),
    type: wire.type,
    size: wire.size,
    mode: wire.mode,
    uid: wire.uid,
    gid: wire.gid,
    modifiedAt: new Date(wire.modified_at),
    target:
      wire.target === undefined && wire.target_base64 === undefined
        ? undefined
        : textOf(wire.target, wire.target_base64),
    etag: wire.etag,
  };
}

export function matchOf(wire: Schemas["GrepRecord"]): Match {
  return {
    path: textOf(wire.path, wire.path_base64),
    lineNumber: wire.line_number ?? 0,
    column: wire.column ?? 0,
    text: textOf(wire.text, wire.text_base64),
    cut: wire.cut ?? false,
    before: wire.before ?? [],
    after: wire.after ?? [],
  };
}

export function found<T>(
  items: T[],
  summary: { truncated?: boolean | undefined; unreadable?: number | undefined },
): Found<T> {
  return Object.assign(items, { truncated: summary.truncated ?? false, unreadable: summary.unreadable ?? 0 });
}
