// What openapi-generator's `typescript-fetch` makes (the directory skiff beside this file), used. Prints what
// test_generated_clients.py expects.
import * as skiff from "./skiff/index.js";

const configuration = new skiff.Configuration({ basePath: process.env.SKIFF_URL, accessToken: process.env.SKIFF_TOKEN });
const commands = new skiff.CommandsApi(configuration);
const files = new skiff.FilesApi(configuration);
const sessions = new skiff.SessionsApi(configuration);

const start = (commandRequest: skiff.CommandRequest, sid = "default") => commands.startCommand({ sid, commandRequest });
const background = (command: string, id: string, more: Partial<skiff.CommandRequest> = {}) =>
  start({ command, id, mode: skiff.CommandMode.Background, ...more });
const ended = (cid: string) => commands.showCommand({ sid: "default", cid, waitMs: 30000 });
const put = (path: string, data: BlobPart) => files.writeFile({ sid: "default", path, body: new Blob([data]) });
const eventOf = (line: string) => skiff.EventFromJSON(JSON.parse(line));

// Each event when it comes.
async function* follow(cid: string): AsyncGenerator<skiff.Event> {
  const { raw } = await commands.readOutputRaw({ sid: "default", cid, follow: true });
  let rest = "";
  for await (const chunk of raw.body!.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop()!;
    for (const line of lines) yield eventOf(line);
  }
}

const done = await start({ command: "echo out; echo err >&2; exit 3" });
console.log("wait", done.stdout!.trim(), done.stderr!.trim(), done.exitCode);

console.log("background", (await background("exec cat", "cat", { stdinOpen: true })).state);
await commands.writeStdin({ sid: "default", cid: "cat", eof: true, body: new Blob(["hello world"]) });
console.log("stdin", (await ended("cat")).exitCode);
const output = await (await commands.readOutput({ sid: "default", cid: "cat", from: 6 })).text();
const events = output.trim().split("\n").map(eventOf);
console.log("output", events.filter((one) => one.type === skiff.EventType.Output).map((one) => one.data).join(""));

await background("echo one; until [ -e go ]; do sleep 0.02; done; echo two", "live");
let text = "";
for await (const event of follow("live")) {
  if (event.type === skiff.EventType.Output) {
    text += event.data!.replaceAll("\n", " ");
    await put("go", "");
  } else if (event.type === skiff.EventType.Exit) {
    text += `exit ${event.exitCode}`;
  }
}
console.log("stream", text);

await background("exec sleep 600", "asleep");
await commands.signalCommand({ sid: "default", cid: "asleep", signalRequest: { signal: "TERM" } });
console.log("signal", (await ended("asleep")).signal);

await sessions.createSession({ sessionRequest: { id: "other", env: { A: "value" } } });
const inOther = await start({ command: "echo $A" }, "other");
console.log("session", inOther.stdout!.trim(), (await sessions.deleteSessionRaw({ sid: "other" })).raw.status);

const data = Uint8Array.from({ length: 256 }, (_, index) => index);
const entry = await put("dir/a b.bin", data);
const read = await (await files.readFile({ sid: "default", path: "dir/a b.bin" })).arrayBuffer();
console.log("file", entry.size, Buffer.from(read).equals(data) ? "True" : "False");
const found = await (await files.globFiles({ sid: "default", pattern: "dir/*" })).text();
console.log("found", skiff.GlobRecordFromJSON(JSON.parse(found.split("\n")[0]!)).path);

const script = await new skiff.FrontDoorApi(configuration).runScript({ body: new Blob(["echo one; echo two"]) });
console.log("script", (await script.text()).replaceAll("\n", " ").trim());
try {
  await sessions.showSession({ sid: "nope" });
} catch (error) {
  if (!(error instanceof skiff.ResponseError)) throw error;
  const problem = skiff.ProblemFromJSON(await error.response.json());
  console.log("error", problem.status, problem.code);
}
