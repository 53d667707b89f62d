/** Tar archives: entries as bytes, and bytes as entries (ustar, with pax records for what does not fit). */

const BLOCK = 512;
const LONGEST_NAME = 100;
const LARGEST_OCTAL = 8 ** 11 - 1;
/** The longest record of a pax header that is read. */
const LONGEST_RECORDS = 1 << 20;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

export type TarType = "file" | "directory" | "symlink" | "link" | "other";
const TYPES: Record<string, TarType> = { "0": "file", "\0": "file", "5": "directory", "2": "symlink", "1": "link" };

export interface TarEntry {
  /** Relative to the root of the archive. */
  path: string;
  type: TarType;
  /** Permission bits. */
  mode: number;
  /** Seconds since 1970. */
  mtime: number;
  /** Bytes of content. */
  size: number;
  /** The target of a link; else empty. */
  target: string;
}

/** The header of an entry; its content, filled up by `padding`, follows. */
export function headerOf(entry: TarEntry): Uint8Array {
  const records: [string, string][] = [];
  const name = entry.type === "directory" ? `${entry.path}/` : entry.path;
  if (!fits(name)) records.push(["path", name]);
  if (!fits(entry.target)) records.push(["linkpath", entry.target]);
  if (entry.size > LARGEST_OCTAL) records.push(["size", String(entry.size)]);
  const header = block({ ...entry, path: fits(name) ? name : "long" });
  if (records.length === 0) return header;
  const text = encoder.encode(records.map(([key, value]) => record(key, value)).join(""));
  const pax = block({ ...entry, path: "pax", target: "", size: text.length }, "x");
  return concatenated([pax, text, padding(text.length), header]);
}

/** What fills the last block of so many bytes. */
export function padding(size: number): Uint8Array {
  return new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);
}

/** The end of an archive. */
export function trailer(): Uint8Array {
  return new Uint8Array(2 * BLOCK);
}

/** Reads an archive from an open file, entry by entry; `read` fills a buffer from a position of the file. */
export async function* entriesOf(
  read: (at: number, size: number) => Promise<Uint8Array>,
): AsyncGenerator<TarEntry & { at: number }> {
  let records = new Map<string, string>();
  for (let at = 0; ; ) {
    const header = await read(at, BLOCK);
    if (header.every((byte) => byte === 0)) return;
    checkSum(header);
    at += BLOCK;
    const kind = String.fromCharCode(header[156]!);
    const size = Number(records.get("size") ?? numberAt(header, 124, 12));
    if (!Number.isSafeInteger(size) || size < 0) throw new Error("the archive is damaged: an entry has no size");
    if (kind === "x" || kind === "g" || kind === "L" || kind === "K") {
      if (size > LONGEST_RECORDS) throw new Error("the archive is damaged: a header is too long");
      const content = await read(at, size);
      if (kind === "x") records = new Map([...records, ...recordsOf(content)]);
      if (kind === "L") records.set("path", textAt(content, 0, size));
      if (kind === "K") records.set("linkpath", textAt(content, 0, size));
    } else {
      const prefix = textAt(header, 345, 155);
      const name = textAt(header, 0, LONGEST_NAME);
      yield {
        path: records.get("path") ?? (prefix ? `${prefix}/${name}` : name),
        type: TYPES[kind] ?? "other",
        mode: numberAt(header, 100, 8),
        mtime: Number(records.get("mtime") ?? numberAt(header, 136, 12)),
        size: TYPES[kind] === "file" ? size : 0,
        target: records.get("linkpath") ?? textAt(header, 157, LONGEST_NAME),
        at,
      };
      records = new Map();
    }
    at += size + padding(size).length;
  }
}

function fits(text: string): boolean {
  return text.length <= LONGEST_NAME && /^[\x20-\x7e]*$/.test(text);
}

function block(entry: TarEntry, kind?: string): Uint8Array {
  const header = new Uint8Array(BLOCK);
  const put = (text: string, at: number) => header.set(encoder.encode(text), at);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, "0");
  put(entry.path, 0);
  put(octal(entry.mode & 0o7777, 7), 100);
  put(octal(0, 7), 108);
  put(octal(0, 7), 116);
  put(octal(Math.min(entry.size, LARGEST_OCTAL), 11), 124);
  put(octal(Math.max(0, Math.floor(entry.mtime)), 11), 136);
  put(kind ?? Object.keys(TYPES).find((one) => TYPES[one] === entry.type)!, 156);
  if (fits(entry.target)) put(entry.target, 157);
  put("ustar\x0000", 257);
  put(octal(sumOf(header), 6), 148);
  header[155] = 0x20;
  return header;
}

/** `LENGTH KEY=VALUE\n`, where the length counts itself. */
function record(key: string, value: string): string {
  const rest = encoder.encode(` ${key}=${value}\n`).length;
  let length = rest + String(rest).length;
  if (String(length).length > String(rest).length) length = rest + String(length).length;
  return `${length} ${key}=${value}\n`;
}

function* recordsOf(content: Uint8Array): Generator<[string, string]> {
  for (let at = 0; at < content.length; ) {
    const blank = content.indexOf(0x20, at);
    const length = blank < 0 ? Number.NaN : Number(decoder.decode(content.subarray(at, blank)));
    if (!(length > blank - at)) throw new Error("the archive is damaged: a record has no length");
    const [key, ...value] = decoder.decode(content.subarray(blank + 1, at + length - 1)).split("=");
    yield [key!, value.join("=")];
    at += length;
  }
}

/** The sum of all bytes, those of the checksum itself as blanks. */
function sumOf(header: Uint8Array): number {
  return header.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0x20 : byte), 0);
}

function checkSum(header: Uint8Array): void {
  if (header.length < BLOCK || numberAt(header, 148, 8) !== sumOf(header)) {
    throw new Error("the archive is damaged: a header has another checksum");
  }
}

function textAt(bytes: Uint8Array, at: number, size: number): string {
  const field = bytes.subarray(at, at + size);
  const end = field.indexOf(0);
  return decoder.decode(end < 0 ? field : field.subarray(0, end));
}

/** Octal, or base 256 where the first bit is set. */
function numberAt(bytes: Uint8Array, at: number, size: number): number {
  if (bytes[at]! & 0x80) {
    return bytes.subarray(at, at + size).reduce((value, byte, index) => value * 256 + (index === 0 ? byte & 0x7f : byte), 0);
  }
  return Number.parseInt(textAt(bytes, at, size).trim() || "0", 8);
}

function concatenated(parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
