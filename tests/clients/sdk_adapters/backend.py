"""The adapter for DeepAgents, by what DeepAgents asks of a sandbox backend."""

import asyncio
import contextlib
import os
import pathlib
import subprocess

import cases
import documented
from deepagents import create_deep_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from skiff_sandbox import Sandbox, SkiffError
from skiff_sandbox.integrations.deepagents import SkiffSandbox

ROOT = pathlib.Path(cases.ROOT)


@contextlib.contextmanager
def sandbox():
    yield SkiffSandbox(cases.URL)


def at(name):
    return f"{cases.ROOT}/{name}"


def case_execute(sandbox):
    result = sandbox.execute("echo one; echo two >&2; echo three; exit 3")
    assert (result.output, result.exit_code, result.truncated) == ("one\ntwo\nthree\n", 3, False), result
    assert sandbox.execute("pwd").output == cases.ROOT + "\n"
    assert sandbox.execute("nope-nope").exit_code == 127
    assert sandbox.execute("kill -9 $$").exit_code == 137
    assert sandbox.execute(r"printf 'a\377b'").output == "a\ufffdb"


def case_timeouts_end_the_tree(sandbox):
    result = sandbox.execute("echo first; sleep 1000 & wait", timeout=1)
    assert result.exit_code == 124 and result.output.startswith("first\n") and "longer timeout" in result.output, result
    assert sandbox.execute("echo never", timeout=0).exit_code == 0
    assert not sandbox.execute("pgrep -x -s 0 sleep").output


def case_much_output_is_cut_and_says_so(sandbox):
    result = sandbox.execute("seq 2000000")
    assert result.truncated and result.exit_code == 0 and result.output.startswith("1\n2\n") and result.output.endswith("2000000\n")


def case_many_at_once(sandbox):
    async def all_of_them():
        return await asyncio.gather(*(sandbox.aexecute(f"sleep 0.2; echo {n}") for n in range(16)))
    assert [one.output for one in asyncio.run(all_of_them())] == [f"{n}\n" for n in range(16)]


def case_a_task_that_is_cancelled_ends_its_command(sandbox):
    async def cancelled():
        task = asyncio.ensure_future(sandbox.aexecute("touch begun; exec sleep 4321"))
        while not (ROOT / "begun").exists():
            await asyncio.sleep(0.01)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert task.cancelled()
    asyncio.run(cancelled())
    assert subprocess.run(["pgrep", "-f", "^sleep 4321$"], capture_output=True).stdout == b""


def case_upload_and_download(sandbox):
    content = bytes(range(256)) * 4000
    files = [(at(name), name.encode() + content) for name in cases.ODD_NAMES if name not in ("%2e%2e",)]
    assert all(one.error is None for one in sandbox.upload_files(files))
    for (path, content), answer in zip(files, sandbox.download_files([path for path, _ in files]), strict=True):
        assert (answer.path, answer.error) == (path, None) and answer.content == content, path
        pathlib.Path(path).unlink()


def case_errors_of_files_have_their_names(sandbox):
    (ROOT / "tree").mkdir(exist_ok=True)
    missing, directory, outside, name = sandbox.download_files([at("nope"), at("tree"), "/etc/passwd", at("x" * 300)])
    assert (missing.error, directory.error, outside.error, name.error) == (
        "file_not_found", "is_directory", "permission_denied", "invalid_path")
    good, bad = sandbox.upload_files([(at("good"), b"1"), ("/etc/nope", b"2")])
    assert (good.error, bad.error) == (None, "permission_denied")
    for told in (sandbox.read("/etc/passwd"), sandbox.ls("/etc"), sandbox.delete("/etc/passwd"), sandbox.edit("/etc/passwd", "root", ""),
                 sandbox.write("/etc/nope", "x")):
        assert f"use paths below {cases.ROOT}" in told.error, told


def case_write_and_edit(sandbox):
    path = at("deep/er/note.txt")
    assert sandbox.write(path, "first line\nit's $HOME `x`\nfirst\n").error is None
    assert pathlib.Path(path).read_text() == "first line\nit's $HOME `x`\nfirst\n"
    edited = sandbox.edit(path, "it's $HOME", "that's \"quoted\"")
    assert (edited.error, edited.path, edited.occurrences) == (None, path, 1), edited
    assert "replace_all" in sandbox.edit(path, "first", "last").error
    assert sandbox.edit(path, "nowhere", "x").error and sandbox.edit(path, "", "x").error
    assert sandbox.edit(path, "first", "last", replace_all=True).occurrences == 2
    assert pathlib.Path(path).read_text() == "last line\nthat's \"quoted\" `x`\nlast\n"
    assert sandbox.edit(path, "nowhere", "x", replace_all=True).error


def case_read_by_pages(sandbox):
    (ROOT / "lines").write_text("".join(f"line {n}\n" for n in range(1, 101)))
    page = sandbox.read(at("lines"), 10, 5)
    assert page.file_data["content"] == "".join(f"line {n}\n" for n in range(11, 16)), page
    assert (page.start_line, page.end_line, page.next_offset) == (11, 15, 15)
    last = sandbox.read(at("lines"), 95, 5)
    assert (last.start_line, last.end_line, last.next_offset) == (96, 100, None)
    assert sandbox.read(at("lines"), -3, 2).file_data["content"] == "line 1\nline 2\n"
    assert sandbox.read(at("lines"), 0, 0).no_lines_requested
    assert "no line 101" in sandbox.read(at("lines"), 100, 5).error
    (ROOT / "empty").touch()
    assert sandbox.read(at("empty")).file_data["content"] == ""
    assert "nope" in sandbox.read(at("nope")).error


def case_read_what_is_large_or_no_text(sandbox):
    (ROOT / "bytes").write_bytes(bytes(range(256)))
    read = sandbox.read(at("bytes"))
    assert read.file_data["encoding"] == "base64" and len(read.file_data["content"]) == 344, read
    (ROOT / "noise").write_bytes(os.urandom(600_000))
    assert "too large" in sandbox.read(at("noise")).error
    (ROOT / "long").write_text(("x" * 999 + "\n") * 1000)
    page = sandbox.read(at("long"))
    assert page.next_offset == page.end_line == 512 and len(page.file_data["content"]) == 512_000, page.end_line
    (ROOT / "line").write_text("ü" * 400_000)
    assert len(sandbox.read(at("line")).file_data["content"]) == 256_000


def case_list(sandbox):
    (ROOT / "listed/sub").mkdir(parents=True)
    for n in range(1100):
        (ROOT / f"listed/{n}").touch()
    (ROOT / "listed/.hidden").write_text("12345")
    entries = {one["path"]: one for one in sandbox.ls(at("listed")).entries}
    assert len(entries) == 1102 and entries[at("listed/sub")]["is_dir"] and not entries[at("listed/7")]["is_dir"]
    assert entries[at("listed/.hidden")]["size"] == 5
    assert at("listed") in [one["path"] for one in sandbox.ls("/").entries]
    assert sandbox.ls(at("listed/nope")).error


def case_glob(sandbox):
    for name in ("a.py", "sub/b.py", "sub/.c.py", ".git/d.py", "sub/e.txt"):
        (ROOT / "globbed" / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / "globbed" / name).touch()
    (ROOT / "globbed/.gitignore").write_text("*.py\n")

    def found(pattern, path=at("globbed")):
        result = sandbox.glob(pattern, path)
        assert result.error is None and not result.truncated, result
        return {one["path"].removeprefix(at("globbed/")) for one in result.matches}

    assert {"a.py", "sub/b.py"} <= found("*.py") <= {"a.py", "sub/b.py", ".git/d.py"}
    assert found("/*.py") == {"a.py"}
    assert found("sub/*.py") == {"sub/b.py"} and found("**/*.txt") == {"sub/e.txt"}
    assert found(".c.py") == {"sub/.c.py"} and found("*.{txt,md}") == {"sub/e.txt"}
    assert "sub/e.txt" in found("globbed/**/*.txt", None) and found("sub") == set()
    assert sandbox.glob("[", at("globbed")).error


def case_grep(sandbox):
    (ROOT / "grepped/.git").mkdir(parents=True)
    for name in ("a.py", "b.txt", ".git/c.py", ".hidden"):
        (ROOT / "grepped" / name).write_text("hay\na (needle) & more\n")
    hits = sandbox.grep("(needle)", at("grepped"))
    assert hits.error is None and not hits.truncated
    assert sorted(one["path"] for one in hits.matches) == [at("grepped/.hidden"), at("grepped/a.py"), at("grepped/b.txt")], hits
    assert {(one["line"], one["text"]) for one in hits.matches} == {(2, "a (needle) & more")}
    assert [one["path"] for one in sandbox.grep("needle", at("grepped"), "*.py").matches] == [at("grepped/a.py")]
    (ROOT / "grepped/in [dir]/sub").mkdir(parents=True)
    (ROOT / "grepped/in [dir]/sub/d.py").write_text("needle\n")
    assert len(sandbox.grep("needle", at("grepped/in [dir]"), "sub/*.py").matches) == 1
    assert len(sandbox.glob("sub/*.py", at("grepped/in [dir]")).matches) == 1
    (ROOT / "grepped/in [dir]/sub/d.py").unlink()
    three, two = sandbox.grep("needle", at("grepped"), max_count=3), sandbox.grep("needle", at("grepped"), max_count=2)
    assert (len(three.matches), three.truncated, len(two.matches), two.truncated) == (3, False, 2, True)
    assert sandbox.grep("no such thing", at("grepped")).matches == [] and sandbox.grep("x", at("nope")).error


def case_delete(sandbox):
    (ROOT / "gone/deep").mkdir(parents=True)
    (ROOT / "gone/deep/file").touch()
    assert sandbox.delete(at("gone")).path == at("gone") and not (ROOT / "gone").exists()
    assert sandbox.delete(at("gone")).error


def case_threads_have_directories_of_their_own(sandbox):
    one, same, other = (SkiffSandbox(cases.URL, thread_id=name) for name in ("conversation-1", "conversation-1", "a/b ü"))
    assert one.execute("echo kept > note; pwd").output == f"{cases.ROOT}/thread-conversation-1\n"
    assert same.read(f"{same.root}/note").file_data["content"] == "kept\n"
    assert other.ls("/").entries == [] and other.root != one.root and other.id != one.id == same.id


def case_a_session_that_was_lost_is_made_again(sandbox):
    lost = SkiffSandbox(cases.URL, thread_id="lost")
    assert lost.execute("true").exit_code == 0
    lost.session.end()
    assert "once more" in lost.execute("true").output
    assert lost.execute("pwd").exit_code == 0


def case_what_people_must_do_is_said(sandbox):
    assert "skiff token" in str(cases.raises(SkiffError, lambda: SkiffSandbox(cases.URL, "wrong").execute("true")))
    assert "skiff describe" in str(cases.raises(SkiffError, lambda: SkiffSandbox("http://127.0.0.1:9").execute("true")))


class Scripted(GenericFakeChatModel):
    """A model whose answers are known; it takes whatever tools it is given."""

    def bind_tools(self, tools, **_):
        return self


def calls(*wanted):
    return [AIMessage(content="", tool_calls=[{"name": name, "args": arguments, "id": str(number), "type": "tool_call"}])
            for number, (name, arguments) in enumerate(wanted)] + [AIMessage(content="done")]


def case_an_agent_works_in_it(sandbox):
    model = Scripted(messages=iter(calls(
        ("execute", {"command": "echo $((6 * 7)) > answer; cat answer"}), ("write_file", {"file_path": at("n.py"), "content": "n = 1\n"}),
        ("edit_file", {"file_path": at("n.py"), "old_string": "1", "new_string": "23"}), ("read_file", {"file_path": at("n.py")}),
        ("glob", {"pattern": "n.p?"}), ("grep", {"pattern": "n = ", "output_mode": "content"}), ("ls", {"path": cases.ROOT}))))
    told = asyncio.run(create_deep_agent(model=model, backend=sandbox).ainvoke({"messages": [("user", "compute")]}))["messages"]
    assert told[-1].content == "done"
    said = [str(message.content) for message in told if message.type == "tool"]
    assert "42" in said[0] and "n = 23" in said[3] and at("n.py") in said[4] and "n = 23" in said[5] and at("n.py") in said[6], said
    assert (ROOT / "n.py").read_text() == "n = 23\n"


def case_the_line_of_the_page_for_those_who_come_from_another_system(sandbox):
    page = (pathlib.Path(__file__).resolve().parents[3] / "docs/migration.md").read_text()
    line = next(line for line in page.splitlines() if line.startswith("agent = create_deep_agent("))
    model = Scripted(messages=iter(calls(("execute", {"command": "echo migration > told"}))))
    _, names = documented.run(line, create_deep_agent=create_deep_agent, SkiffSandbox=SkiffSandbox, model=model, url=cases.URL,
                              token=os.environ["SKIFF_TOKEN"])
    assert names["agent"].invoke({"messages": [("user", "go on")]})["messages"][-1].content == "done"
    assert (ROOT / "told").read_text() == "migration\n"


def case_a_session_of_any_host(_):
    with Sandbox.create() as box:
        backend = SkiffSandbox.within(box)
        assert backend.execute("pwd").output == f"{backend.root}\n"
        assert asyncio.run(backend.aexecute("echo here")).output == "here\n"


if __name__ == "__main__":
    cases.main(sandbox)
