const UNITS: [string, number][] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
];

/** "3 h 20 min": at most two units. */
export function span(ms: number): string {
  if (ms < 1_000) return ms < 0 ? "0 s" : `${Math.round(ms)} ms`;
  const first = UNITS.findIndex(([, size]) => ms >= size);
  const parts: string[] = [];
  let left = ms;
  for (const [name, size] of UNITS.slice(first, first + 2)) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0) parts.push(`${count} ${name}`);
  }
  return parts.join(" ");
}

/** The largest unit alone: "3 h". It is at least a second. */
export function age(since: string, now: number): string {
  return span(Math.max(1_000, now - Date.parse(since))).split(" ").slice(0, 2).join(" ");
}

export const whole = (time: string) => new Date(time).toLocaleString();

/** "1.5 MiB". */
export function bytes(count: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let left = count;
  while (left >= 1024 && unit < units.length - 1) {
    left /= 1024;
    ++unit;
  }
  return `${unit === 0 || left >= 100 ? Math.round(left) : left.toFixed(1)} ${units[unit]}`;
}
