/** Local files and directories, by Node's own modules. Browsers load no_trees.js instead. */

import { createReadStream } from "node:fs";
import * as fs from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";

import { SkiffError } from "./errors.js";
import { entriesOf, headerOf, padding, type TarEntry, trailer } from "./tar.js";

const PIECE = 1 << 20;

/** Makes archives of a directory's contents, or of one file, piece by piece. */
export async function packer(source: string): Promise<() => AsyncGenerator<Uint8Array>> {
  const isDirectory = (await fs.stat(source)).isDirectory();
  return async function* () {
    yield* isDirectory ? packedBelow(source, "") : packedEntry(source, basename(source));
    yield trailer();
  };
}

async function* packedBelow(directory: string, path: string): AsyncGenerator<Uint8Array> {
  for (const name of (await fs.readdir(directory)).sort()) {
    yield* packedEntry(join(directory, name), path ? `${path}/${name}` : name);
  }
}

async function* packedEntry(source: string, path: string): AsyncGenerator<Uint8Array> {
  const about = await fs.lstat(source);
  const entry: TarEntry = { path, type: "file", mode: about.mode & 0o7777, mtime: about.mtimeMs / 1000, size: 0, target: "" };
  if (about.isDirectory()) {
    yield headerOf({ ...entry, type: "directory" });
    yield* packedBelow(source, path);
  } else if (about.isSymbolicLink()) {
    yield headerOf({ ...entry, type: "symlink", target: await fs.readlink(source) });
  } else if (about.isFile()) {
    yield headerOf({ ...entry, size: about.size });
    let size = 0;
    // A file that grows meanwhile is cut: its size stands before it.
    if (about.size > 0) {
      for await (const piece of createReadStream(source, { end: about.size - 1, highWaterMark: PIECE })) {
        size += (piece as Uint8Array).length;
        yield piece as Uint8Array;
      }
    }
    if (size < about.size) throw new Error(`${source} has become shorter while it was read`);
    yield padding(size);
  }
}

/** An archive in a temporary file. */
export interface Archive {
  add(piece: Uint8Array): Promise<void>;
  /** Nothing is written outside of the directory. */
  unpack(target: string): Promise<void>;
  remove(): Promise<void>;
}

export async function temporary(): Promise<Archive> {
  const folder = await fs.mkdtemp(join(tmpdir(), "skiff-"));
  const file = await fs.open(join(folder, "archive"), "wx+");
  let end = 0;
  const read = async (at: number, size: number) => {
    const { bytesRead, buffer } = await file.read(new Uint8Array(size), 0, size, at);
    return buffer.subarray(0, bytesRead);
  };
  return {
    async add(piece) {
      await writtenAt(file, piece, end);
      end += piece.length;
    },
    async unpack(target) {
      await fs.mkdir(target, { recursive: true });
      for await (const entry of entriesOf(read)) await written(entry, read, target);
    },
    async remove() {
      await file.close();
      await fs.rm(folder, { recursive: true });
    },
  };
}

type Read = (at: number, size: number) => Promise<Uint8Array>;

async function written(entry: TarEntry & { at: number }, read: Read, target: string): Promise<void> {
  const path = await within(target, entry.path);
  if (path === target) return;
  if (entry.type === "directory") {
    const there = await fs.lstat(path).catch(() => undefined);
    if (there && !there.isDirectory()) await fs.rm(path);
    await fs.mkdir(path, { recursive: true });
    return fs.chmod(path, entry.mode & 0o777);
  }
  await fs.mkdir(dirname(path), { recursive: true });
  await fs.rm(path, { force: true });
  if (entry.type === "symlink") return fs.symlink(linkTarget(entry), path);
  if (entry.type === "link") return fs.link(await within(target, entry.target), path);
  if (entry.type !== "file") throw refused(entry.path, "is a device or a FIFO");
  const file = await fs.open(path, "wx", 0o600);
  try {
    for (let done = 0; done < entry.size; ) {
      const piece = await read(entry.at + done, Math.min(PIECE, entry.size - done));
      if (piece.length === 0) throw new Error("the archive is damaged: it has no end");
      await writtenAt(file, piece, done);
      done += piece.length;
    }
  } finally {
    await file.close();
  }
  await fs.chmod(path, entry.mode & 0o777);
  await fs.utimes(path, entry.mtime, entry.mtime);
}

async function writtenAt(file: fs.FileHandle, piece: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < piece.length; ) {
    done += (await file.write(piece, done, piece.length - done, at + done)).bytesWritten;
  }
}

/** The path below the directory. Refuses one that leads out of it, also over a link. */
async function within(target: string, path: string): Promise<string> {
  const parts = namesOf(path);
  if (path.startsWith("/") || parts.includes("..")) throw refused(path, "leads out of the directory");
  let at = target;
  for (const part of parts.slice(0, -1)) {
    at = join(at, part);
    const there = await fs.lstat(at).catch(() => undefined);
    if (there?.isSymbolicLink()) throw refused(path, "leads over a link");
  }
  return parts.length === 0 ? target : join(target, ...parts);
}

/** The target of a symbolic link. Refuses one that leads out of the directory: `..` may stand at its beginning alone. */
function linkTarget(entry: TarEntry): string {
  let above = namesOf(entry.path).length - 1;
  let isBelow = false;
  let leadsOut = entry.target.startsWith("/");
  for (const name of namesOf(entry.target)) {
    // What stands before `..` may be a link, so nobody knows where its parent is.
    if (name === "..") leadsOut ||= isBelow || above-- === 0;
    else isBelow = true;
  }
  if (leadsOut) throw refused(entry.path, "leads out of the directory");
  return entry.target;
}

function namesOf(path: string): string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}

function refused(path: string, why: string): SkiffError {
  return new SkiffError("path_escapes_root", `${JSON.stringify(path)} of the archive ${why}`);
}
