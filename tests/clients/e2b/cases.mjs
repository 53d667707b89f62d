// The package for JavaScript: cases.mjs PACKAGES NAME. Prints how each case went, a line of JSON a case.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [packages, name] = process.argv.slice(2);
const require = createRequire(`${packages}/`);
const { CommandExitError, FileType, FilesystemEventType, InvalidArgumentError, NotFoundError, Sandbox, TimeoutError } =
  await import(pathToFileURL(require.resolve(name)).href);
const ROOT = process.env.ROOT;
const CONTROL = process.env.HOW === "control";

const until = async (condition) => {
  for (const deadline = Date.now() + 20000; !(await condition()); ) {
    assert.ok(Date.now() < deadline);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};
const caught = async (promise, kind) => {
  const error = await promise.then(() => assert.fail("no error"), (reason) => reason);
  assert.ok(error instanceof kind, String(error?.stack));
  return error;
};

const cases = {
  async run(sandbox) {
    const told = [];
    const done = await sandbox.commands.run("echo out; echo err >&2", { onStdout: (data) => told.push(data) });
    assert.deepEqual([done.stdout, done.stderr, done.exitCode, told.join("")], ["out\n", "err\n", 0, "out\n"]);
  },
  async runThatFails(sandbox) {
    const error = await caught(sandbox.commands.run("echo out; exit 7"), CommandExitError);
    assert.deepEqual([error.exitCode, error.stdout], [7, "out\n"]);
  },
  async runWithVariablesAndDirectory(sandbox) {
    await sandbox.files.makeDir("somewhere");
    const done = await sandbox.commands.run("echo $A; basename $PWD", { envs: { A: "1" }, cwd: `${ROOT}/somewhere` });
    assert.equal(done.stdout, "1\nsomewhere\n");
    await caught(sandbox.commands.run("true", { cwd: "/nowhere" }), InvalidArgumentError);
  },
  async runThatTakesTooLong(sandbox) {
    await caught(sandbox.commands.run("sleep 301", { timeoutMs: 1000 }), TimeoutError);
    await until(async () => !(await sandbox.commands.list()).some((one) => one.args.at(-1) === "sleep 301"));
  },
  async muchOutput(sandbox) {
    const done = await sandbox.commands.run("seq 200000");
    assert.equal(done.stdout, Array.from({ length: 200000 }, (_, i) => `${i + 1}\n`).join(""));
  },
  async backgroundAndKill(sandbox) {
    const handle = await sandbox.commands.run("sleep 302 & sleep 303", { background: true });
    assert.equal(await handle.kill(), true);
    const error = await caught(handle.wait(), CommandExitError);
    assert.equal(error.error, "signal: killed");
    assert.equal(await sandbox.commands.kill(handle.pid), false);
    assert.equal(await sandbox.commands.kill(4000000), false);
  },
  async stdin(sandbox) {
    const handle = await sandbox.commands.run("read a; echo got $a", { background: true, stdin: true });
    await sandbox.commands.sendStdin(handle.pid, "it\n");
    assert.equal((await handle.wait()).stdout, "got it\n");
  },
  async endOfStdin(sandbox) {
    if (!sandbox.commands.closeStdin) return;
    const handle = await sandbox.commands.run("cat; echo end", { background: true, stdin: true });
    await sandbox.commands.sendStdin(handle.pid, "a");
    await sandbox.commands.closeStdin(handle.pid);
    assert.equal((await handle.wait()).stdout, "aend\n");
  },
  async connect(sandbox) {
    const handle = await sandbox.commands.run("echo first; read a; echo $a", { background: true, stdin: true });
    await handle.disconnect();
    const again = await sandbox.commands.connect(handle.pid);
    await sandbox.commands.sendStdin(handle.pid, "second\n");
    assert.equal((await again.wait()).stdout, "first\nsecond\n");
    await caught(sandbox.commands.connect(4000000), NotFoundError);
  },
  async aCommandOutlivesItsConnection(sandbox) {
    const handle = await sandbox.commands.run("echo up; read a; echo $a", { background: true, stdin: true, timeoutMs: 0 });
    await handle.disconnect();
    const again = await sandbox.commands.connect(handle.pid);
    await sandbox.commands.sendStdin(handle.pid, "still here\n");
    assert.equal((await again.wait()).stdout, "up\nstill here\n");
  },
  async commandsAtOnce(sandbox) {
    const done = await Promise.all(Array.from({ length: 50 }, (_, i) => sandbox.commands.run(`echo ${i}`)));
    done.forEach((one, i) => assert.equal(one.stdout, `${i}\n`));
  },
  async terminal(sandbox) {
    const out = [];
    const handle = await sandbox.pty.create({ cols: 70, rows: 20, onData: (data) => out.push(Buffer.from(data)) });
    await sandbox.pty.resize(handle.pid, { cols: 90, rows: 30 });
    await sandbox.pty.sendInput(handle.pid, new TextEncoder().encode("stty size; exit 0\n"));
    await handle.wait();
    assert.ok(Buffer.concat(out).includes("30 90"), Buffer.concat(out).toString());
    const killed = await sandbox.pty.create({ cols: 70, rows: 20, onData: () => {} });
    assert.equal(await sandbox.pty.kill(killed.pid), true);
  },
  async writeAndRead(sandbox) {
    assert.equal((await sandbox.files.write("a.txt", "text ü")).path, `${ROOT}/a.txt`);
    assert.equal(await sandbox.files.read("a.txt"), "text ü");
    const data = new Uint8Array(1000000).map((_, i) => i % 251);
    await sandbox.files.write("deep/er/b.bin", data.buffer);
    assert.deepEqual(Buffer.from(await sandbox.files.read("deep/er/b.bin", { format: "bytes" })), Buffer.from(data));
    const pieces = [];
    for await (const piece of await sandbox.files.read("deep/er/b.bin", { format: "stream" })) pieces.push(piece);
    assert.deepEqual(Buffer.concat(pieces), Buffer.from(data));
    await sandbox.files.write("c.bin", new Blob([data]).stream());
    assert.equal((await sandbox.files.getInfo("c.bin")).size, data.length);
    await sandbox.files.write("empty", "");
    assert.equal(await sandbox.files.read("empty"), "");
  },
  async writeMany(sandbox) {
    const names = ["m 1", "m/ü", 'm"3', "m%204"];
    const written = await sandbox.files.write(names.map((path) => ({ path, data: path })));
    assert.deepEqual(written.map((one) => one.path), names.map((one) => `${ROOT}/${one}`));
    for (const one of names) assert.equal(await sandbox.files.read(one), one);
  },
  async lists(sandbox) {
    await sandbox.files.makeDir("l/sub");
    await sandbox.files.write("l/f", "12345");
    const entries = await sandbox.files.list("l");
    assert.deepEqual(entries.map((one) => [one.name, one.type]), [["f", FileType.FILE], ["sub", FileType.DIR]]);
    await caught(sandbox.files.list("none"), NotFoundError);
    await caught(sandbox.files.list("l/f"), InvalidArgumentError);
  },
  async whatIsThere(sandbox) {
    assert.equal(await sandbox.files.exists("none"), false);
    assert.equal(await sandbox.files.makeDir("i"), true);
    assert.equal(await sandbox.files.makeDir("i"), false);
    await sandbox.files.write("i/f", "123");
    const info = await sandbox.files.getInfo("i/f");
    assert.deepEqual([info.name, info.type, info.size, info.permissions], ["f", FileType.FILE, 3, "-rw-r--r--"]);
    assert.equal((await sandbox.files.rename("i/f", "i/g")).path, `${ROOT}/i/g`);
    await sandbox.files.remove("i");
    assert.equal(await sandbox.files.exists("i"), false);
    await caught(sandbox.files.read("none"), NotFoundError);
    await caught(sandbox.files.read(ROOT), InvalidArgumentError);
  },
  async watch(sandbox) {
    await sandbox.files.makeDir("w");
    const found = [];
    const handle = await sandbox.files.watchDir("w", (event) => found.push(`${event.type} ${event.name}`), { recursive: true });
    await sandbox.files.write("w/f", "1");
    await until(() => found.includes(`${FilesystemEventType.WRITE} f`));
    await sandbox.files.rename("w/f", "w/g");
    await until(() => found.includes(`${FilesystemEventType.RENAME} f`));
    await handle.stop();
    await sandbox.files.remove("w");
    await caught(sandbox.files.watchDir("none", () => {}), NotFoundError);
  },
  async users(sandbox) {
    const own = (await sandbox.commands.run("id -un")).stdout.trim();
    assert.equal((await sandbox.commands.run("id -un", { user: own })).stdout.trim(), own);
    if (CONTROL && process.getuid() === 0) {
      assert.equal((await sandbox.commands.run("id -un", { user: "nobody", cwd: "/" })).stdout, "nobody\n");
    }
  },
  async signedUrls(sandbox) {
    if (!CONTROL) return;
    await sandbox.files.write("s", "signed");
    const url = new URL(await sandbox.downloadUrl("s"));
    const signed = await fetch(`${process.env.DOOR}/files${url.search}`);
    assert.equal(await signed.text(), "signed");
    assert.equal((await fetch(`${process.env.DOOR}/files${url.search.replace("path=s", "path=a.txt")}`)).status, 401);
  },
  async isRunning(sandbox) {
    assert.equal(await sandbox.isRunning(), true);
  },
};

const sandbox = await Sandbox.create();
for (const [one, check] of Object.entries(cases)) {
  const failure = await check(sandbox).then(() => null, (error) => String(error?.stack ?? error));
  console.log(`\n${JSON.stringify({ case: one, failure })}`);
}
await sandbox.kill();
process.exit(0);
