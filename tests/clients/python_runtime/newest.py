"""k8s-agent-sandbox, the newest: the synchronous client in direct mode."""

import contextlib
import io
import os
import pathlib
import threading
import time

import cases
import documented
from k8s_agent_sandbox import SandboxClient
from k8s_agent_sandbox.exceptions import SandboxRequestError
from k8s_agent_sandbox.models import SandboxDirectConnectionConfig


@contextlib.contextmanager
def sandbox():
    client = SandboxClient(connection_config=SandboxDirectConnectionConfig(api_url=cases.URL, server_port=cases.PORT))
    made = client.create_sandbox(warmpool="pool")
    try:
        yield made
    finally:
        made.terminate()


def case_run(sandbox):
    result = sandbox.commands.run("echo 'hello world' | tr a-z A-Z; echo oops >&2; exit 3")
    assert (result.stdout, result.stderr, result.exit_code, result.timed_out) == ("HELLO WORLD\n", "oops\n", 3, False)


def case_run_signal(sandbox):
    assert sandbox.commands.run("kill -9 $$").exit_code == -9


def case_run_not_utf8(sandbox):
    assert sandbox.commands.run(r"printf 'a\377b'").stdout == "a\ufffdb"


def case_run_failures_are_results(sandbox):
    assert sandbox.commands.run("nope-nope").exit_code == 127
    empty = sandbox.commands.run("")
    assert empty.exit_code == 1 and empty.stderr.startswith("Failed to execute command: ")


def case_command_timeout(sandbox):
    result = sandbox.commands.run("echo first; sleep 300", command_timeout=0.5)
    assert result.timed_out and result.exit_code != 0 and result.stdout == "first\n" and "timed out" in result.stderr


def case_read_timeout_comes_after_the_answer(sandbox):
    """The whole answer arrives before the client's own patience is over."""
    result = sandbox.commands.run("sleep 300", timeout=2)
    assert result.timed_out and result.exit_code == 1


def case_run_much_output(sandbox):
    result = sandbox.commands.run("head -c 5000000 /dev/zero | tr '\\0' x")
    assert result.stdout == "x" * 5_000_000


def case_env_and_cwd_are_refused_by_the_client(sandbox):
    cases.raises(NotImplementedError, lambda: sandbox.commands.run("true", env={"A": "b"}))


def case_write_read_odd_names(sandbox):
    for name in cases.ODD_NAMES:
        content = name.encode() + b"\0\r\n"
        sandbox.files.write(name, content)
        assert (pathlib.Path(cases.ROOT) / name).read_bytes() == content, name
        assert sandbox.files.read(name) == content, name
        assert sandbox.files.exists(name), name
        folder, _, last = name.rpartition("/")
        assert last in [entry.name for entry in sandbox.files.list(folder)], name
        (pathlib.Path(cases.ROOT) / name).unlink()
        assert not sandbox.files.exists(name), name


def case_write_text_and_nothing(sandbox):
    sandbox.files.write("text", "h\u00e9llo")
    assert sandbox.files.read("text").decode() == "h\u00e9llo"
    sandbox.files.write("text", b"")
    assert sandbox.files.read("text") == b""


def case_absolute_paths_are_below_the_root(sandbox):
    sandbox.files.write("/made/f", b"1")
    assert (pathlib.Path(cases.ROOT) / "made" / "f").read_bytes() == b"1"
    assert sandbox.files.read("/made/f") == b"1"
    sandbox.commands.run("echo 2 > printed")
    assert sandbox.files.read(f"{cases.ROOT}/printed") == b"2\n"


def case_large_file_both_ways(sandbox):
    data = os.urandom(64 << 20)
    sandbox.files.write("large", data)
    assert sandbox.files.read("large") == data


def case_streamed_upload(sandbox):
    data = os.urandom((64 << 20) + 7)
    sandbox.files.write("streamed", io.BytesIO(data))
    assert (pathlib.Path(cases.ROOT) / "streamed").read_bytes() == data


def case_read_to(sandbox):
    data = os.urandom(3 << 20)
    sandbox.files.write("f", data)
    into = io.BytesIO()
    assert sandbox.files.read_to("f", into) == len(data) and into.getvalue() == data
    cases.raises(RuntimeError, lambda: sandbox.files.read_to("f", io.BytesIO(), max_bytes=1000))


def case_list(sandbox):
    sandbox.commands.run("mkdir -p tree/sub; printf 12345 > tree/f; ln -s f tree/link; ln -s nowhere tree/dangling")
    entries = {entry.name: entry for entry in sandbox.files.list("tree")}
    assert {name: entry.type for name, entry in entries.items()} == {
        "sub": "directory", "f": "file", "link": "file", "dangling": "file"}
    assert entries["f"].size == entries["link"].size == 5
    assert abs(entries["f"].modified.timestamp() - time.time()) < 3600
    for root in (".", "", "/"):
        assert "tree" in [entry.name for entry in sandbox.files.list(root)], root
    assert sandbox.files.list("tree/sub") == []


def case_errors_have_their_status(sandbox):
    for call, status in ((lambda: sandbox.files.read("nope"), 404), (lambda: sandbox.files.list("nope"), 404),
                         (lambda: sandbox.files.read("../../etc/passwd", allow_unsafe_paths=True), 403),
                         (lambda: sandbox.files.exists("../../etc/passwd"), 403),
                         (lambda: sandbox.files.write("../out", b"x", allow_unsafe_paths=True), 403)):
        error = cases.raises(SandboxRequestError, call)
        assert error.status_code == status, error
    assert sandbox.commands.run("echo on").stdout == "on\n"


def case_many_threads(sandbox):
    failures = []

    def work(n):
        try:
            sandbox.files.write(f"t{n}", str(n) * 1000)
            assert sandbox.files.read(f"t{n}") == str(n).encode() * 1000
            assert sandbox.commands.run(f"cat t{n} | head -c 1").stdout == str(n)[:1]
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def case_the_lines_of_the_page_for_those_who_come_from_another_system(sandbox):
    page = (pathlib.Path(__file__).resolve().parents[3] / "docs/migration.md").read_text()
    lines = page.partition("```python\n")[2].partition("```")[0]
    printed, names = documented.run(lines, SandboxClient=SandboxClient,
                                    connection=SandboxDirectConnectionConfig(api_url=cases.URL, server_port=cases.PORT))
    assert printed == "Linux\n\n", printed
    names["sandbox"].terminate()


if __name__ == "__main__":
    cases.main(sandbox)
