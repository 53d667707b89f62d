import { ask } from "./api";

/** A stream that has nothing to tell says so each 15 s. */
const SILENCE = 35_000;

/** The data of server-sent events, as many at a time as have come, until the connection ends or breaks, or is silent for too long. */
export async function* eventStream<T>(path: string, signal: AbortSignal, fields: Record<string, string>, opened: () => void): AsyncGenerator<T[]> {
  const broken = new AbortController();
  const answer = await ask("GET", path, undefined, AbortSignal.any([signal, broken.signal]), fields);
  opened();
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const timer = setTimeout(() => broken.abort(), SILENCE);
    const { done, value } = await reader.read().finally(() => clearTimeout(timer));
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop()!;
    yield lines.filter((line) => line.startsWith("data: ")).map((line) => JSON.parse(line.slice(6)) as T);
  }
}
