import { joined } from "./base64.js";
import { type Body, bodyOf, type Data, streamOf } from "./body.js";
import type { Connection, Query } from "./connection.js";
import { type EditedFile, entryOf, type FileEntry, found, type Found, type Match, matchOf } from "./entries.js";
import { SkiffError } from "./errors.js";
import { Retries } from "./retries.js";
import type { components } from "./schemas.js";
import { Watch, type WatchOptions } from "./watch.js";

type Schemas = components["schemas"];

export interface SignalOption {
  signal?: AbortSignal;
}

export interface WriteOptions extends SignalOption {
  /** Octal, for example "0755". */
  mode?: string;
  /** Write only if the file has this etag. `precondition_failed` otherwise. */
  ifMatch?: string;
  /** Write only if there is no such file. `precondition_failed` otherwise. */
  create?: boolean;
}

export interface EditOptions extends SignalOption {
  /** How often the old text must occur; default 1, 0: at least once. */
  count?: number;
  /** Edit only if the file has this etag. `precondition_failed` otherwise. */
  ifMatch?: string;
}

export interface GlobOptions extends SignalOption {
  /** Directory to search; default: the root. */
  path?: string;
  hidden?: boolean;
  /** Include what .gitignore files exclude. */
  ignored?: boolean;
  limit?: number;
}

export interface GrepOptions extends GlobOptions {
  /** Search for the pattern as text. */
  literal?: boolean;
  ignoreCase?: boolean;
  /** Search only files whose path matches this glob. */
  glob?: string;
  /** Lines before and after each match. */
  context?: number;
}

/** How often an append is tried again because others have appended in the meantime. */
const MOST_OTHERS = 100;
/** The longest time for an upload or one search; one attempt. */
const LONG_MS = 600_000;

/**
 * The files of a session. Paths are relative to its root; a path that leads outside is refused with
 * `path_escapes_root`. Missing ones are `path_not_found`. What only reads, and whole writes, are repeated when a
 * connection breaks; `edit`, `move` and `copy` are not: then `connection_failed` says that they may have been made.
 */
export class Files {
  /** @internal */
  constructor(
    private readonly connection: Connection,
    /** The path of the session. */
    private readonly base: string,
  ) {}

  /** The bytes of a file. `GET .../files/{path}`. */
  async read(path: string, options: SignalOption = {}): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this.readPieces(path, options)) pieces.push(piece);
    return joined(pieces);
  }

  /** The text of a file in UTF-8. `GET .../files/{path}`. */
  async readText(path: string, options: SignalOption = {}): Promise<string> {
    return new TextDecoder().decode(await this.read(path, options));
  }

  /**
   * The bytes of a file piece by piece. When the connection breaks, another one goes on at the next byte; if the file
   * has been replaced in the meantime, `precondition_failed`. `GET .../files/{path}` with Range.
   */
  async *readPieces(path: string, options: SignalOption = {}): AsyncGenerator<Uint8Array> {
    const retries = new Retries(this.connection.retryMs, options.signal);
    let at = 0;
    let size: number | undefined;
    let etag: string | undefined;
    for (;;) {
      const headers: Record<string, string> = at > 0 && etag ? { Range: `bytes=${at}-`, "If-Match": etag } : {};
      const opened = (response: Response) => {
        if (at > 0 && response.status !== 206) {
          throw new SkiffError("connection_failed", `${path}: broken at byte ${at}, and read from its beginning again`);
        }
        const length = response.headers.get("Content-Length");
        const isEncoded = response.headers.has("Content-Encoding"); // by a proxy: its length is another one
        size = length === null || isEncoded ? undefined : at + Number(length);
        etag = response.headers.get("ETag") ?? undefined;
        retries.opened();
      };
      try {
        const request = { method: "GET", path: this.at(path), headers, repeat: true, signal: options.signal };
        for await (const piece of this.connection.pieces(request, opened)) {
          retries.succeeded();
          at += piece.length;
          yield piece;
        }
        if (size === undefined || at === size) return;
        throw new Error(`the file ended at ${at} of ${size} bytes`);
      } catch (error) {
        await retries.after(error, `GET ${this.at(path)} from ${at}`);
        if (at === size) return;
        if (at > 0 && !etag)
          throw new SkiffError("connection_failed", `${path}: broken at byte ${at} of a file without an etag`);
      }
    }
  }

  /**
   * Writes a whole file, all of it or nothing, with its parent directories. Bytes arrive as they are. A stream or an
   * iterator is read once, so such a write is not repeated. `PUT .../files/{path}`.
   */
  async write(path: string, data: Data, options: WriteOptions = {}): Promise<FileEntry> {
    const headers: Record<string, string> = {};
    if (options.ifMatch !== undefined) headers["If-Match"] = options.ifMatch;
    if (options.create) headers["If-None-Match"] = "*";
    const body = await bodyOf(data);
    const isRepeatable = body.repeat && !options.create && options.ifMatch === undefined;
    const wire = await this.send<Schemas["FileEntry"]>(
      "PUT",
      path,
      body,
      isRepeatable,
      { mode: options.mode },
      headers,
      options.signal,
    );
    return entryOf(wire);
  }

  /**
   * Appends to a file, or creates it, exactly once; behind what others append at the same time. `PATCH
   * .../files/{path}?append=true&offset=`.
   */
  async append(path: string, data: string | Uint8Array, options: SignalOption = {}): Promise<FileEntry> {
    const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
    for (let others = 0; ; ++others) {
      const before = await this.sizeOf(path, options.signal);
      let attempts = 0;
      const make = () => {
        ++attempts;
        return bytes;
      };
      try {
        const query = { append: true, offset: before };
        return entryOf(await this.send("PATCH", path, { make, repeat: true }, true, query, {}, options.signal));
      } catch (error) {
        const isElsewhere = error instanceof SkiffError && error.code === "append_offset_mismatch";
        if (!isElsewhere || others >= MOST_OTHERS) throw error;
        // The answer to an append that was made was lost: then the bytes are there.
        if (attempts > 1 && (await this.holds(path, before, bytes, options.signal))) return this.stat(path, options);
      }
    }
  }

  /** Replaces a text. Throws `edit_not_found` if it does not occur as often as it must. `PATCH .../files/{path}`. */
  async edit(path: string, old: string, replacement: string, options: EditOptions = {}): Promise<EditedFile> {
    const json: Schemas["EditsRequest"] = { edits: [{ old, new: replacement, count: options.count ?? 1 }] };
    const headers = options.ifMatch === undefined ? {} : { "If-Match": options.ifMatch };
    const request = { method: "PATCH", path: this.at(path), json, headers, repeat: false, signal: options.signal };
    const wire = await this.connection.json<Schemas["EditedFile"]>(request);
    return { ...entryOf(wire), diff: wire.diff ?? "", diffCut: wire.diff_cut ?? false };
  }

  /** Deletes a file, a link, or with `recursive` a directory with its contents. `DELETE .../files/{path}`. */
  async remove(path: string, options: SignalOption & { recursive?: boolean } = {}): Promise<void> {
    const request = {
      method: "DELETE",
      path: this.at(path),
      query: { recursive: options.recursive },
      signal: options.signal,
    };
    await this.connection.json({ ...request, repeat: false });
  }

  /** The entries of a directory, and with `recursive` of all below. `GET .../files:list`. */
  async list(
    path = "",
    options: SignalOption & { recursive?: boolean; pattern?: string } = {},
  ): Promise<Found<FileEntry>> {
    const items: FileEntry[] = [];
    let unreadable = 0;
    let cursor: string | undefined;
    do {
      const query: Query = { path: path || undefined, recursive: options.recursive, pattern: options.pattern, cursor };
      const page = await this.get<Schemas["FileList"]>(":list", query, options.signal);
      items.push(...page.items.map((item) => below(path, entryOf(item))));
      unreadable += page.unreadable ?? 0;
      cursor = page.next_cursor;
    } while (cursor !== undefined);
    return found(items, { unreadable });
  }

  /** The entry at a path; a link at its end is not followed. `GET .../files:stat`. */
  async stat(path: string, options: SignalOption = {}): Promise<FileEntry> {
    const [item] = (await this.get<Schemas["FileResults"]>(":stat", { path: [path] }, options.signal)).items;
    if (item?.error || !item) {
      throw new SkiffError(item?.error?.code ?? "path_not_found", item?.error?.detail ?? path, { status: 404 });
    }
    return entryOf(item as Schemas["FileEntry"]);
  }

  /** Whether there is such a path. `GET .../files:stat`. */
  async exists(path: string, options: SignalOption = {}): Promise<boolean> {
    try {
      await this.stat(path, options);
      return true;
    } catch (error) {
      if (error instanceof SkiffError && error.code === "path_not_found") return false;
      throw error;
    }
  }

  /** Creates a directory with its parents; one that exists is fine. `POST .../files:mkdir`. */
  mkdir(path: string, options: SignalOption = {}): Promise<FileEntry> {
    const json: Schemas["MakeDirectoryRequest"] = { path, parents: true };
    return this.post(":mkdir", json, true, options.signal);
  }

  /** `POST .../files:move`. */
  move(from: string, to: string, options: SignalOption & { overwrite?: boolean } = {}): Promise<FileEntry> {
    const json: Schemas["MoveRequest"] = { from, to, overwrite: options.overwrite ?? false };
    return this.post(":move", json, false, options.signal);
  }

  /** `POST .../files:copy`. */
  copy(from: string, to: string, options: SignalOption & { overwrite?: boolean } = {}): Promise<FileEntry> {
    const json: Schemas["MoveRequest"] = { from, to, overwrite: options.overwrite ?? false };
    return this.post(":copy", json, false, options.signal);
  }

  /** Sets the mode, octal, for example "0755". `POST .../files:chmod`. */
  chmod(path: string, mode: string, options: SignalOption = {}): Promise<FileEntry> {
    const json: Schemas["SetModeRequest"] = { path, mode };
    return this.post(":chmod", json, true, options.signal);
  }

  /** Creates a symbolic link. `POST .../files:symlink`. */
  symlink(path: string, target: string, options: SignalOption = {}): Promise<FileEntry> {
    const json: Schemas["MakeLinkRequest"] = { path, target };
    return this.post(":symlink", json, false, options.signal);
  }

  /** The paths that match, with * ? [...] ** {a,b}. `GET .../files:glob`. */
  async glob(pattern: string, options: GlobOptions = {}): Promise<Found<string>> {
    const { path, hidden, ignored, limit } = options;
    const [records, summary] = await this.search<Schemas["GlobRecord"]>(
      ":glob",
      { pattern, path, hidden, ignored, limit },
      options.signal,
    );
    return found(
      records.map((record) => matchOf(record as Schemas["GrepRecord"]).path),
      summary,
    );
  }

  /** The lines that match a regular expression (RE2). `GET .../files:grep`. */
  async grep(pattern: string, options: GrepOptions = {}): Promise<Found<Match>> {
    const { path, hidden, ignored, limit, literal, glob, context } = options;
    const query = { pattern, path, hidden, ignored, limit, literal, ignore_case: options.ignoreCase, glob, context };
    const [records, summary] = await this.search<Schemas["GrepRecord"]>(":grep", query, options.signal);
    return found(records.map(matchOf), summary);
  }

  /**
   * The changes below a directory, from the time on at which `ready()` resolves or the loop begins. `GET
   * .../files:watch`.
   */
  watch(path = "", options: WatchOptions = {}): Watch {
    return new Watch(this.connection, `${this.base}/files:watch`, path || ".", options);
  }

  /**
   * A tree as a tar archive, piece by piece; it breaks off if something in it is missing. Not resumed. `GET
   * .../files:archive`.
   */
  archive(path = "", options: SignalOption & { format?: Schemas["ArchiveFormat"] } = {}): AsyncGenerator<Uint8Array> {
    const query = { path: path ? [path] : undefined, format: options.format, whole: true };
    return this.connection.pieces({
      method: "GET",
      path: `${this.base}/files:archive`,
      query,
      repeat: true,
      signal: options.signal,
    });
  }

  /** Unpacks a tar archive, plain or compressed, into a directory. `PUT .../files:archive`. */
  async unpack(archive: Data, path = "", options: SignalOption = {}): Promise<void> {
    const body = await bodyOf(archive);
    await this.connection.json({
      method: "PUT",
      path: `${this.base}/files:archive`,
      query: { path: path || undefined },
      body: body.make,
      repeat: body.repeat,
      attemptMs: LONG_MS,
      signal: options.signal,
    });
  }

  /**
   * Copies a local file or directory into the directory `target`, with modes and links; files of the same name are
   * replaced. Not in browsers. `PUT .../files:archive`.
   */
  async upload(source: string, target = "", options: SignalOption = {}): Promise<void> {
    const pieces = await (await trees()).packer(source);
    await this.connection.json({
      method: "PUT",
      path: `${this.base}/files:archive`,
      query: { path: target || undefined },
      body: () => streamOf(pieces()),
      repeat: true,
      attemptMs: LONG_MS,
      signal: options.signal,
    });
  }

  /**
   * Copies a directory's contents, or a file, into the local directory `target`, which is made if it is missing. Nothing
   * is written outside of it: `path_escapes_root`. Not in browsers. `GET .../files:archive`.
   */
  async download(source: string, target: string, options: SignalOption = {}): Promise<void> {
    const retries = new Retries(this.connection.retryMs, options.signal);
    for (;;) {
      const archive = await (await trees()).temporary();
      try {
        const failure = await this.received(source, archive, options);
        if (!failure) return await archive.unpack(target);
        await retries.after(failure.error, `GET ${this.base}/files:archive`);
      } finally {
        await archive.remove();
      }
    }
  }

  /** Keeps an archive. A failure of the connection is returned. */
  private async received(
    source: string,
    archive: import("./trees.js").Archive,
    options: SignalOption,
  ): Promise<{ error: unknown } | undefined> {
    const pieces = this.archive(source, options);
    for (;;) {
      let piece: IteratorResult<Uint8Array>;
      try {
        piece = await pieces.next();
      } catch (error) {
        return { error };
      }
      if (piece.done) return undefined;
      await archive.add(piece.value);
    }
  }

  private at(path: string): string {
    return `${this.base}/files/${encodeURIComponent(path)}`; // with %2F even "../x" arrives as it is
  }

  private get<T>(what: string, query: Query, signal: AbortSignal | undefined): Promise<T> {
    return this.connection.json({ method: "GET", path: `${this.base}/files${what}`, query, repeat: true, signal });
  }

  private async post(what: string, json: object, repeat: boolean, signal: AbortSignal | undefined): Promise<FileEntry> {
    const request = { method: "POST", path: `${this.base}/files${what}`, json, repeat, signal };
    return entryOf(await this.connection.json<Schemas["FileEntry"]>(request));
  }

  private send<T>(
    method: string,
    path: string,
    body: Body,
    repeat: boolean,
    query: Query,
    headers: Record<string, string>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    return this.connection.json({
      method,
      path: this.at(path),
      query,
      headers,
      body: body.make,
      repeat,
      attemptMs: LONG_MS,
      signal,
    });
  }

  /** The records of a search, and its last line, which says that all of them have arrived. */
  private search<T extends { type?: unknown }>(
    what: string,
    query: Query,
    signal: AbortSignal | undefined,
  ): Promise<[T[], T]> {
    const request = {
      method: "GET",
      path: `${this.base}/files${what}`,
      query,
      repeat: true,
      attemptMs: LONG_MS,
      signal,
    };
    return this.connection.exchange(request, async (response) => {
      const lines = (await response.text()).split("\n").filter((line) => line !== "");
      const records = lines.map((line) => JSON.parse(line) as T);
      const summary = records.pop();
      if (summary?.type !== "summary") throw new Error("the search broke off");
      return [records, summary] as [T[], T];
    });
  }

  /** Whether a file has these bytes at an offset. */
  private async holds(path: string, at: number, bytes: Uint8Array, signal: AbortSignal | undefined): Promise<boolean> {
    if (bytes.length === 0) return true;
    const headers = { Range: `bytes=${at}-${at + bytes.length - 1}` };
    const request = { method: "GET", path: this.at(path), headers, repeat: true, attemptMs: LONG_MS, signal };
    try {
      const there = await this.connection.exchange(request, async (response) => {
        return response.status === 206 ? new Uint8Array(await response.arrayBuffer()) : new Uint8Array();
      });
      return there.length === bytes.length && there.every((byte, index) => byte === bytes[index]);
    } catch (error) {
      if (error instanceof SkiffError && error.code === "range_not_satisfiable") return false;
      throw error;
    }
  }

  private async sizeOf(path: string, signal: AbortSignal | undefined): Promise<number> {
    try {
      return (await this.stat(path, signal ? { signal } : {})).size;
    } catch (error) {
      if (error instanceof SkiffError && error.code === "path_not_found") return 0;
      throw error;
    }
  }
}

/** Local directories: browsers get a module that refuses. */
function trees(): Promise<typeof import("./trees.js")> {
  return import("./trees.js");
}

/** An entry of a listing has its path below the listed directory: with that, it is one for `read`. */
function below(directory: string, entry: FileEntry): FileEntry {
  return directory ? { ...entry, path: `${directory.replace(/\/+$/, "")}/${entry.path}` } : entry;
}
