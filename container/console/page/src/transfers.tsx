import { useEffect, useRef, useState } from "preact/hooks";

import { Refusal } from "./api";
import type { Dropped } from "./dropped";
import { below, download, encodePath, lastName, shownPath, upload } from "./files_api";
import { bytes } from "./quantities";

interface Transfer {
  key: number;
  isUpload: boolean;
  name: string;
  state: "waits" | "runs" | "asks" | "done" | "failed" | "cancelled";
  done: number;
  /** Bytes, where it is known. */
  total?: number;
  message?: string;
  cancel: AbortController;
  run: (replaces: boolean) => Promise<void>;
}

export interface Transfers {
  all: Transfer[];
  upload(directory: string, files: Dropped[]): void;
  download(place: string, isDirectory: boolean): void;
  /** Begin again, over the files that are there. */
  replace(keys: number[]): void;
  dismiss(keys: number[]): void;
}

const EXISTS = 412;

/** Uploads and downloads. Uploads go one after another; leaving the view cancels all. */
export function useTransfers(sandbox: string, onUploaded: () => void): Transfers {
  const [all, setAll] = useState<Transfer[]>([]);
  const queue = useRef<Promise<void>>(Promise.resolve());
  const keys = useRef(0);
  const left = useRef(new AbortController());
  useEffect(() => () => left.current.abort(), []);

  const change = (key: number, values: Partial<Transfer>) =>
    setAll((before) => before.map((one) => (one.key === key ? { ...one, ...values } : one)));

  const begin = (isUpload: boolean, name: string, total: number | undefined, work: (replaces: boolean, signal: AbortSignal, onProgress: (done: number) => void) => Promise<void>) => {
    const key = ++keys.current;
    const cancel = new AbortController();
    const signal = AbortSignal.any([cancel.signal, left.current.signal]);
    const run = async (replaces: boolean) => {
      if (signal.aborted) return change(key, { state: "cancelled" });
      change(key, { state: "runs", done: 0 });
      try {
        await work(replaces, signal, (done) => change(key, { done }));
        change(key, { state: "done" });
        if (isUpload) onUploaded();
      } catch (error) {
        if (signal.aborted) change(key, { state: "cancelled" });
        else if (isUpload && (error as Refusal).status === EXISTS) change(key, { state: "asks" });
        else change(key, { state: "failed", message: (error as Refusal).message });
      }
    };
    setAll((before) => [...before, { key, isUpload, name, state: "waits", done: 0, ...(total === undefined ? {} : { total }), cancel, run }]);
    return run;
  };

  return {
    all,
    upload: (directory, files) => {
      for (const { path, file } of files) {
        const place = below(directory, encodePath(path));
        const run = begin(true, path, file.size, (replaces, signal, onProgress) => upload(sandbox, place, file, replaces, signal, onProgress));
        queue.current = queue.current.then(() => run(false));
      }
    },
    download: (place, isDirectory) => {
      const name = shownPath(lastName(place)) || sandbox;
      const run = begin(false, isDirectory ? `${name}.tar` : name, undefined, (_, signal, onProgress) =>
        download(sandbox, { place, name, isDirectory }, signal, onProgress),
      );
      void run(false);
    },
    replace: (keys) => {
      for (const one of all.filter(({ key }) => keys.includes(key))) queue.current = queue.current.then(() => one.run(true));
      for (const key of keys) change(key, { state: "waits" });
    },
    dismiss: (keys) => setAll((before) => before.filter(({ key }) => !keys.includes(key))),
  };
}

function status(one: Transfer): string {
  const verb = one.isUpload ? "Upload" : "Download";
  switch (one.state) {
    case "waits":
      return `${verb} waits`;
    case "runs":
      return one.total ? `${bytes(one.done)} of ${bytes(one.total)}` : bytes(one.done);
    case "asks":
      return "There is a file of this name";
    case "done":
      return one.isUpload ? "Uploaded" : "Downloaded";
    case "failed":
      return `${verb} failed. ${one.message ?? ""}`;
    case "cancelled":
      return `${verb} cancelled`;
  }
}

const isOpen = ({ state }: Transfer) => state === "runs" || state === "waits";

/** What can be done with several at once. */
function ForAll({ transfers: { all, replace, dismiss } }: { transfers: Transfers }) {
  const keys = (some: Transfer[]) => some.map(({ key }) => key);
  const asking = all.filter(({ state }) => state === "asks");
  const open = all.filter(isOpen);
  const over = all.filter((one) => !isOpen(one) && one.state !== "asks");
  return (
    <div class="bar">
      {asking.length > 1 && (
        <button class="danger" onClick={() => replace(keys(asking))}>
          Replace all {asking.length}
        </button>
      )}
      {asking.length > 1 && <button onClick={() => dismiss(keys(asking))}>Skip all {asking.length}</button>}
      {open.length > 1 && (
        <button onClick={() => open.forEach(({ cancel }) => cancel.abort())}>Cancel all {open.length}</button>
      )}
      {over.length > 1 && (
        <button class="quiet" onClick={() => dismiss(keys(over))}>
          Dismiss all {over.length}
        </button>
      )}
    </div>
  );
}

export function TransferList({ transfers }: { transfers: Transfers }) {
  if (transfers.all.length === 0) return null;
  return (
    <>
      {transfers.all.length > 1 && <ForAll transfers={transfers} />}
      <ul class="transfers" aria-label="Uploads and downloads">
        {transfers.all.map((one) => (
          <li key={one.key} class={one.state}>
            <code>{one.name}</code>
            {one.state === "runs" && (
              <progress aria-label={`Progress of ${one.name}`} {...(one.total ? { value: one.done, max: one.total } : {})} />
            )}
            <span class="faint" role="status">
              {status(one)}
            </span>
            {one.state === "asks" && (
              <button class="danger" aria-label={`Replace ${one.name}`} onClick={() => transfers.replace([one.key])}>
                Replace
              </button>
            )}
            {isOpen(one) ? (
              <button aria-label={`Cancel ${one.name}`} onClick={() => one.cancel.abort()}>
                Cancel
              </button>
            ) : (
              <button class="quiet" aria-label={`Dismiss ${one.name}`} onClick={() => transfers.dismiss([one.key])}>
                Dismiss
              </button>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}
