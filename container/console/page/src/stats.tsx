import { readStats, type Stats as Measured } from "./api";
import { Trouble } from "./messages";
import { usePolled } from "./polled";
import { bytes } from "./quantities";

const BETWEEN_LOOKS = 2_000;
const SHOWN = 5 * 60_000;
/** No line joins two points that are further apart: nobody has looked between them. */
const LONGEST_GAP = 10_000;
const WIDTH = 300;
const HEIGHT = 80;
/** A limit far above the values would press them to the ground: it is then only told. */
const FAR_ABOVE = 20;

interface Point {
  at: number;
  /** Milliseconds that the processor has worked so far. */
  worked: number | null;
  memory: number | null;
  processes: number | null;
}

/** What was measured, by sandbox: it stays while other views are shown. */
const histories = new Map<string, Point[]>();

function remember(key: string, measured: Measured): Point[] {
  const at = Date.now();
  const point = { at, worked: measured.cpu.used_ms, memory: measured.memory.used_bytes, processes: measured.pids.used };
  const points = [...(histories.get(key) ?? []).filter((one) => one.at > at - SHOWN), point];
  histories.set(key, points);
  for (const [other, measuredThere] of histories) {
    if (measuredThere.at(-1)!.at <= at - SHOWN) histories.delete(other);
  }
  return points;
}

interface Value {
  at: number;
  value: number;
}

/** Processors in use between each two points. */
function load(points: Point[]): Value[] {
  return points.flatMap((one, index) => {
    const before = points[index - 1];
    if (!before || one.worked === null || before.worked === null || one.worked < before.worked) return [];
    if (one.at === before.at || one.at - before.at > LONGEST_GAP) return [];
    return [{ at: one.at, value: (one.worked - before.worked) / (one.at - before.at) }];
  });
}

function valuesOf(points: Point[], of: (point: Point) => number | null): Value[] {
  return points.flatMap((one) => {
    const value = of(one);
    return value === null ? [] : [{ at: one.at, value }];
  });
}

interface PlotProps {
  name: string;
  values: Value[];
  limit: number | null;
  now: number;
  show: (value: number) => string;
}

function Plot({ name, values, limit, now, show }: PlotProps) {
  const last = values.at(-1);
  const peak = Math.max(...values.map(({ value }) => value), 0);
  const isLimitFar = limit !== null && limit > FAR_ABOVE * peak;
  const top = Math.max(limit === null || isLimitFar ? 0 : limit * 1.1, peak * 1.2) || 1;
  const y = (value: number) => (HEIGHT - (value / top) * HEIGHT).toFixed(1);
  const path = values
    .map(({ at, value }, index) => {
      const before = values[index - 1];
      const x = (WIDTH - ((now - at) / SHOWN) * WIDTH).toFixed(1);
      return `${!before || at - before.at > LONGEST_GAP ? "M" : "L"}${x} ${y(value)}`;
    })
    .join("");
  if (!last) {
    return (
      <figure>
        <figcaption>
          <h2>{name}</h2>
          <span class="faint">not known {limit !== null && `(limit ${show(limit)})`}</span>
        </figcaption>
      </figure>
    );
  }
  const told = limit === null ? "no limit" : `limit ${show(limit)}${isLimitFar ? ", far above the plot" : ""}`;
  const used = show(last.value);
  return (
    <figure>
      <figcaption>
        <h2>{name}</h2>
        <span>{used}</span>
        <span class="faint">{told}</span>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`${name} over the last five minutes: now ${used}, at most ${show(peak)}, ${told}`}>
        {limit !== null && !isLimitFar && <line class="limit" x1={0} x2={WIDTH} y1={y(limit)} y2={y(limit)} />}
        <path class="values" d={path} />
      </svg>
      <p class="faint scale">
        <span>5 min ago</span>
        <span>top: {show(top)}</span>
        <span>now</span>
      </p>
    </figure>
  );
}

const processors = (count: number) => `${count < 10 ? count.toFixed(2) : Math.round(count)} ${count === 1 ? "processor" : "processors"}`;
const processes = (count: number) => `${Math.round(count)} processes`;

/** Use of the processor, memory and processes over the last minutes. `uid` tells sandboxes of one name apart. */
const isMeasured = ({ cpu, memory, pids }: Measured) => [cpu.used_ms, memory.used_bytes, pids.used].some((one) => one !== null);

export function Stats({ sandbox, uid }: { sandbox: string; uid: string }) {
  const { value, trouble } = usePolled(sandbox, BETWEEN_LOOKS, async (id, signal) => {
    const measured = await readStats(id, signal);
    return { measured, points: remember(uid, measured), now: Date.now() };
  });
  return (
    <section class="stats">
      {trouble && <Trouble text={trouble} />}
      {!value && !trouble && (
        <p class="loading" role="status">
          Loading…
        </p>
      )}
      {value && !isMeasured(value.measured) && (
        <p class="faint">What this sandbox uses is not known: it has no control group of its own, which would count it.</p>
      )}
      {value && (
        <>
          <Plot
            name="Processor"
            values={load(value.points)}
            limit={value.measured.cpu.limit_millis === null ? value.measured.cpu.cores : value.measured.cpu.limit_millis / 1000}
            now={value.now}
            show={processors}
          />
          <Plot name="Memory" values={valuesOf(value.points, ({ memory }) => memory)} limit={value.measured.memory.limit_bytes} now={value.now} show={bytes} />
          <Plot name="Processes" values={valuesOf(value.points, (point) => point.processes)} limit={value.measured.pids.limit} now={value.now} show={processes} />
        </>
      )}
    </section>
  );
}
