import { SkiffError } from "./errors.js";

/** A number of milliseconds, or a number with a unit: "250ms", "90s", "5m", "1h", "7d". */
export type Duration = number | string;

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds. Throws `invalid_field` for what is not a duration. */
export function milliseconds(duration: Duration): number {
  if (typeof duration === "number" && duration >= 0) return Math.round(duration);
  const [, count, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(String(duration)) ?? [];
  if (count === undefined || unit === undefined) {
    throw new SkiffError(
      "invalid_field",
      `${JSON.stringify(duration)} is not a duration: use milliseconds or "90s", "5m", "1h"`,
    );
  }
  return Math.round(Number(count) * UNITS[unit]!);
}

/** Milliseconds, or undefined for undefined. */
export function optionalMilliseconds(duration: Duration | undefined): number | undefined {
  return duration === undefined ? undefined : milliseconds(duration);
}
