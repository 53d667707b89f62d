import { ask, LONGEST_DEED, LONGEST_WRITE, Refusal, refusalOf, sessionPath } from "./api";

export interface Entry {
  name: string;
  /** Bytes of the path from the root, percent-encoded, with / between the names; unique, and fit for an address. */
  place: string;
  type: string;
  size: number;
  target?: string;
}

interface ListedEntry {
  name: string;
  name_base64?: string;
  type: string;
  size: number;
  target?: string;
}

/** Text of a file, with what is needed to write it back byte for byte. */
export interface TextFile {
  /** Lines end with \n. */
  text: string;
  lineEnd: "\n" | "\r\n";
  etag: string;
  /** The ends of its lines are mixed: an edit would change them all. */
  mixed: boolean;
}

/** Longest file that is shown and edited. */
export const LONGEST_TEXT = 1 << 20;
const ENTRIES_AT_ONCE = 1_000;
const MOST_MATCHES = 500;

/** A name of a file as a part of an address. */
export function encodeName(name: string): string {
  return encodeURIComponent(name.replace(/[\uD800-\uDFFF]/gu, "\uFFFD"));
}

function encodeBytes(base64: string): string {
  return Array.from(atob(base64), (one) => "%" + one.charCodeAt(0).toString(16).padStart(2, "0")).join("");
}

export const encodePath = (path: string) => path.split("/").map(encodeName).join("/");

/** The path for people; bytes that are not UTF-8 become U+FFFD. */
export function shownPath(place: string): string {
  const bytes = place.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return new TextDecoder().decode(Uint8Array.from(bytes, (one) => one.charCodeAt(0)));
}

export const below = (directory: string, name: string) => (directory ? `${directory}/${name}` : name);
export const lastName = (place: string) => place.slice(place.lastIndexOf("/") + 1);

const filePath = (sandbox: string, place: string) => `${sessionPath(sandbox)}/files/${place}`;
const query = (place: string) => place.replaceAll("/", "%2F");

export async function listDirectory(sandbox: string, directory: string, cursor = ""): Promise<{ entries: Entry[]; next: string }> {
  const address = `${sessionPath(sandbox)}/files:list?path=${query(directory)}&limit=${ENTRIES_AT_ONCE}&cursor=${encodeURIComponent(cursor)}`;
  const answer = (await (await ask("GET", address)).json()) as { items: ListedEntry[]; next_cursor?: string };
  const entries = answer.items
    // The agent is in the hands of its sandbox: these names would lead out of the directory.
    .filter(({ name }) => name !== "" && name !== "." && name !== "..")
    .map(({ name, name_base64, type, size, target }) => ({
      name,
      place: below(directory, name_base64 === undefined ? encodeName(name) : encodeBytes(name_base64)),
      type,
      size,
      ...(target === undefined ? {} : { target }),
    }));
  return { entries, next: answer.next_cursor ?? "" };
}

/** The text of a file; `undefined` if it is not text. */
export async function readText(sandbox: string, place: string, signal?: AbortSignal): Promise<TextFile | undefined> {
  const answer = await ask("GET", filePath(sandbox, place), undefined, signal, { Range: `bytes=0-${LONGEST_TEXT}` }).catch((error: unknown) => {
    // An empty file has no range.
    if (error instanceof Refusal && error.status === 416) return ask("GET", filePath(sandbox, place), undefined, signal);
    throw error;
  });
  const bytes = new Uint8Array(await answer.arrayBuffer());
  if (bytes.length > LONGEST_TEXT) throw new Refusal("too_large", "The file is longer than 1 MiB. Download it to see it.");
  if (bytes.includes(0)) return undefined;
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
  const lines = text.split("\n").length - 1;
  const pairs = text.split("\r\n").length - 1;
  const returns = text.split("\r").length - 1;
  const lineEnd = pairs > 0 ? "\r\n" : "\n";
  return {
    text: text.replace(/\r\n?/g, "\n"),
    lineEnd,
    etag: answer.headers.get("ETag") ?? "",
    mixed: returns !== pairs || (pairs > 0 && pairs !== lines),
  };
}

/** Writes the file if it still has the tag; without a tag, if there is none. Returns its new tag. */
export async function writeText(sandbox: string, place: string, text: string, lineEnd: string, etag: string): Promise<string> {
  const bytes = new TextEncoder().encode(lineEnd === "\n" ? text : text.replaceAll("\n", lineEnd));
  const condition: Record<string, string> = etag ? { "If-Match": etag } : { "If-None-Match": "*" };
  const answer = await ask("PUT", filePath(sandbox, place), bytes, undefined, condition, LONGEST_WRITE);
  const entry = (await answer.json()) as { etag?: string };
  return answer.headers.get("ETag") ?? entry.etag ?? "";
}

/** Sends a file, and tells how many bytes have gone. An aborted one changes nothing, because a file is written whole. */
export function upload(sandbox: string, place: string, file: File, replaces: boolean, signal: AbortSignal, onProgress: (sent: number) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    // fetch() does not tell how much it has sent.
    const request = new XMLHttpRequest();
    request.open("PUT", filePath(sandbox, place));
    request.setRequestHeader("Content-Type", "application/octet-stream");
    if (!replaces) request.setRequestHeader("If-None-Match", "*");
    request.upload.onprogress = (event) => onProgress(event.loaded);
    request.onload = () => (request.status < 300 ? resolve() : reject(refusalOf(request.status, request.responseText)));
    request.onerror = () => reject(refusalOf(0, ""));
    request.onabort = () => reject(new Refusal("cancelled", "Cancelled."));
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

/** Gives it to the browser to save. */
export function keep(whole: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(whole);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Fetches a file, or a directory as a tar archive, and gives it to the browser to save. */
export async function download(sandbox: string, entry: { place: string; name: string; isDirectory: boolean }, signal: AbortSignal, onProgress: (got: number) => void): Promise<void> {
  const address = entry.isDirectory
    ? `${sessionPath(sandbox)}/files:archive?path=${query(entry.place)}&whole=true`
    : filePath(sandbox, entry.place);
  const answer = await ask("GET", address, undefined, signal, {}, LONGEST_DEED);
  let got = 0;
  const counted = answer.body?.pipeThrough(
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, out) {
        got += chunk.length;
        onProgress(got);
        out.enqueue(chunk);
      },
    }),
  );
  let whole: Blob;
  try {
    // The browser puts a long one on disk. Its type keeps it from being shown as a document of this origin.
    whole = await new Response(counted ?? null, { headers: { "Content-Type": "application/octet-stream" } }).blob();
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Refusal("cut", `The download of ${entry.name} was cut. Nothing was saved.`);
  }
  keep(whole, entry.isDirectory ? `${entry.name}.tar` : entry.name);
}

export interface Match {
  place: string;
  path: string;
  line: number;
  text: string;
}

/** Finds lines in the text files below a directory. `truncated`: there are more than MOST_MATCHES. */
export async function grep(
  sandbox: string,
  directory: string,
  pattern: string,
  options: { literal: boolean; ignoreCase: boolean },
  signal: AbortSignal,
): Promise<{ matches: Match[]; truncated: boolean }> {
  const parameters = `pattern=${encodeURIComponent(pattern)}&literal=${options.literal}&ignore_case=${options.ignoreCase}`;
  const address = `${sessionPath(sandbox)}/files:grep?${parameters}&path=${query(directory)}&hidden=true&limit=${MOST_MATCHES}`;
  const answer = await ask("GET", address, undefined, signal, { Accept: "application/x-ndjson" }, LONGEST_DEED);
  const matches: Match[] = [];
  let truncated = false;
  for (const line of (await answer.text()).split("\n").filter(Boolean)) {
    const record = JSON.parse(line) as {
      type?: string;
      path?: string;
      path_base64?: string;
      line_number?: number;
      text?: string;
      text_base64?: string;
      truncated?: boolean;
    };
    if (record.type === "summary") truncated = record.truncated === true;
    else {
      const place = record.path_base64 === undefined ? encodePath(record.path ?? "") : encodeBytes(record.path_base64).replaceAll("%2f", "/");
      if (place.split("/").some((name) => name === "" || name === "." || name === "..")) continue;
      matches.push({ place, path: shownPath(place), line: record.line_number ?? 0, text: record.text ?? "(not UTF-8)" });
    }
  }
  return { matches, truncated };
}
