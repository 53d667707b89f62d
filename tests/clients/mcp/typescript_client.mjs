// A round through a sandbox with an official TypeScript client: typescript_client.mjs PACKAGES v2|v1 URL|COMMAND...
// The token is in SKIFF_TOKEN.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [packages, line, ...target] = process.argv.slice(2);
const require = createRequire(`${packages}/`);
const load = (name) => import(pathToFileURL(require.resolve(name)).href);

async function parts() {
  if (line === "v2") {
    const all = await load("@modelcontextprotocol/client");
    const stdio = await load("@modelcontextprotocol/client/stdio");
    return { Client: all.Client, Http: all.StreamableHTTPClientTransport, Stdio: stdio.StdioClientTransport };
  }
  const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = await load("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
  return { Client, Http: StreamableHTTPClientTransport, Stdio: StdioClientTransport };
}

const { Client, Http, Stdio } = await parts();
const headers = { Authorization: `Bearer ${process.env.SKIFF_TOKEN}` };
const transport = target[0].startsWith("http")
  ? new Http(new URL(target[0]), { requestInit: { headers } })
  : new Stdio({ command: target[0], args: target.slice(1), env: process.env, stderr: "inherit" });
const client = new Client({ name: "skiff-test", version: "1" }, {});
await client.connect(transport);

async function tool(name, args = {}, options = undefined) {
  const result = line === "v2" ? await client.callTool({ name, arguments: args }, options)
                               : await client.callTool({ name, arguments: args }, undefined, options);
  assert.ok(!result.isError, JSON.stringify(result));
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
  return result.structuredContent;
}

const { tools } = await client.listTools();
assert.equal(tools.length, 18);
assert.equal((await tool("run_command", { command: "echo $((6 * 7)); exit 3" })).exit_code, 3);
const begun = await tool("run_command", { command: "echo begun; read x; echo got $x", background: true, stdin_open: true });
assert.ok((await tool("wait_for", { command: begun.id, pattern: "begun" })).met);
await tool("write_input", { command: begun.id, text: "it\n", eof: true });
assert.equal((await tool("wait_for", { command: begun.id })).exit_code, 0);
assert.equal((await tool("read_output", { command: begun.id })).stdout, "begun\ngot it\n");
await tool("create_session", { id: "mine" });
await tool("delete_session", { session: "mine" });
await tool("write_file", { path: "w/d/a.txt", text: "one\ntwo\n" });
await tool("edit_file", { path: "w/d/a.txt", edits: [{ old: "two", new: "2" }] });
assert.equal((await tool("read_file", { path: "w/d/a.txt" })).text, "one\n2\n");
for (const [name, args] of [["list_directory", {}], ["find_files", { pattern: "**/*" }], ["search_files", { pattern: "one" }],
  ["list_commands", {}], ["list_sessions", {}], ["watch_changes", { path: "w" }],
  ["apply_changes", { operations: [{ op: "move", path: "w/d/a.txt", to: "w/b.txt" }] }]]) await tool(name, args);

const told = [];
await tool("run_command", { command: "sleep 2.5" }, { onprogress: (progress) => told.push(progress) });
assert.ok(told.length >= 1 && told[0].total === 50000, JSON.stringify(told));

const uri = "skiff://default/files/w/b.txt";
assert.ok((await client.listResources()).resources.some((one) => one.uri.startsWith("skiff://default/logs/")));
assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 2);
assert.equal((await client.readResource({ uri })).contents[0].text, "one\n2\n");

const abort = new AbortController();
setTimeout(() => abort.abort(), 1500);
await assert.rejects(tool("run_command", { command: "sleep 1000", id: "given-up" }, { signal: abort.signal }));
assert.equal((await tool("wait_for", { command: "given-up" })).cause, "killed_by_client");

await assert.rejects(client.callTool({ name: "nope", arguments: {} }));
await tool("run_command", { command: "rm -r w" });
await client.close();
console.log("all is well");
