// What openapi-typescript makes (skiff.d.ts beside this file), used with openapi-fetch. Prints what test_generated_clients.py
// expects.
import createClient from "openapi-fetch";

import type { components, paths } from "./skiff.js";

type Event = components["schemas"]["Event"];
type CommandRequest = components["schemas"]["CommandRequest"];

const client = createClient<paths>({
  baseUrl: process.env.SKIFF_URL,
  headers: { Authorization: `Bearer ${process.env.SKIFF_TOKEN}` },
});
// Bytes are a string in the types, and are sent as they are.
const bytes = { headers: { "Content-Type": "application/octet-stream" }, bodySerializer: (body: unknown) => body as BodyInit };
const as = (body: BodyInit) => body as unknown as string;
const path = (cid: string, sid = "default") => ({ sid, cid });

async function start(body: CommandRequest, sid = "default") {
  const { data, error } = await client.POST("/v1/sessions/{sid}/commands", { params: { path: { sid } }, body });
  if (error) throw new Error(error.detail);
  return data as components["schemas"]["StartedCommand"];
}

const background = (command: string, id: string, more: Partial<CommandRequest> = {}) =>
  start({ command, id, mode: "background", ...more });

async function ended(cid: string) {
  const query = { wait_ms: 30000 };
  const { data } = await client.GET("/v1/sessions/{sid}/commands/{cid}", { params: { path: path(cid), query } });
  return data!;
}

async function put(name: string, data: BodyInit) {
  const params = { path: { sid: "default", path: name } };
  const answer = await client.PUT("/v1/sessions/{sid}/files/{path}", { params, body: as(data), ...bytes });
  return answer.data!;
}

// Each event when it comes.
async function* follow(cid: string): AsyncGenerator<Event> {
  const { data } = await client.GET("/v1/sessions/{sid}/commands/{cid}/output", {
    params: { path: path(cid), query: { follow: true } },
    parseAs: "stream",
  });
  let rest = "";
  for await (const chunk of data!.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop()!;
    for (const line of lines) yield JSON.parse(line);
  }
}

const done = await start({ command: "echo out; echo err >&2; exit 3" });
console.log("wait", done.stdout!.trim(), done.stderr!.trim(), done.exit_code);

console.log("background", (await background("exec cat", "cat", { stdin_open: true })).state);
await client.POST("/v1/sessions/{sid}/commands/{cid}/stdin", {
  params: { path: path("cat"), query: { eof: true } },
  body: as("hello world"),
  ...bytes,
});
console.log("stdin", (await ended("cat")).exit_code);
const output = await client.GET("/v1/sessions/{sid}/commands/{cid}/output", {
  params: { path: path("cat"), query: { from: 6 } },
  parseAs: "text",
});
const events: Event[] = output.data!.trim().split("\n").map((line) => JSON.parse(line));
console.log("output", events.filter((one) => one.type === "output").map((one) => one.data).join(""));

await background("echo one; until [ -e go ]; do sleep 0.02; done; echo two", "live");
let text = "";
for await (const event of follow("live")) {
  if (event.type === "output") {
    text += event.data!.replaceAll("\n", " ");
    await put("go", "");
  } else if (event.type === "exit") {
    text += `exit ${event.exit_code}`;
  }
}
console.log("stream", text);

await background("exec sleep 600", "asleep");
await client.POST("/v1/sessions/{sid}/commands/{cid}/signal", { params: { path: path("asleep") }, body: { signal: "TERM" } });
console.log("signal", (await ended("asleep")).signal);

await client.POST("/v1/sessions", { body: { id: "other", env: { A: "value" } } });
const inOther = await start({ command: "echo $A" }, "other");
const deleted = await client.DELETE("/v1/sessions/{sid}", { params: { path: { sid: "other" } } });
console.log("session", inOther.stdout!.trim(), deleted.response.status);

const data = Uint8Array.from({ length: 256 }, (_, index) => index);
const entry = await put("dir/a b.bin", data);
const read = await client.GET("/v1/sessions/{sid}/files/{path}", {
  params: { path: { sid: "default", path: "dir/a b.bin" } },
  parseAs: "arrayBuffer",
});
console.log("file", entry.size, Buffer.from(read.data!).equals(data) ? "True" : "False");
const found = await client.GET("/v1/sessions/{sid}/files:glob", {
  params: { path: { sid: "default" }, query: { pattern: "dir/*" } },
  parseAs: "text",
});
console.log("found", (JSON.parse(found.data!.split("\n")[0]!) as components["schemas"]["GlobRecord"]).path);

const script = await client.POST("/v1/run", { body: as("echo one; echo two"), ...bytes, parseAs: "text" });
console.log("script", script.data!.replaceAll("\n", " ").trim());
const { error } = await client.GET("/v1/sessions/{sid}", { params: { path: { sid: "nope" } } });
console.log("error", error!.status, error!.code);
