/** How a person left the views of a sandbox: they are found again like that, also after a reload of this tab. */
export interface Left {
  /** The terminal and the command that were shown. */
  terminal?: string;
  command?: string;
  /** Where uploads go, and below which the search looks. */
  directory?: string;
  file?: { place: string; type: string } | undefined;
  /** The directories whose entries were shown. */
  open?: string[];
}

const KEY = "left";
const MOST_LEFT = 50;

function stored(): [string, Left][] {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "[]") as [string, Left][];
  } catch {
    return [];
  }
}

const all = new Map(stored());

/** `uid` tells sandboxes of one name apart. */
export const leftOf = (uid: string): Left => all.get(uid) ?? {};

export function leave(uid: string, values: Left): void {
  const before = leftOf(uid);
  all.delete(uid);
  all.set(uid, { ...before, ...values });
  for (const oldest of all.keys()) if (all.size > MOST_LEFT) all.delete(oldest);
  try {
    sessionStorage.setItem(KEY, JSON.stringify([...all]));
  } catch {
    // The browser keeps no more: a reload forgets it.
  }
}
