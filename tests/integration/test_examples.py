"""The one-file clients in examples/: each does all that it says, against the real agent."""

import hashlib
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import termios

import pytest

import tools
from agent import environment
from cutting_proxy import CuttingProxy
from terminal import Terminal
from waiting import until

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
# Examples that Debian's packages alone can run, or (make test-extras) the others, and the shell's again, with websocat.
NAMES = ("typescript", "go", "shell") if os.environ.get("SKIFF_EXTRAS") else ("python", "shell")


@pytest.fixture(scope="module")
def go_program():
    """The Go client, built once."""
    with tempfile.TemporaryDirectory(prefix="skiff-go-") as folder:
        program = pathlib.Path(folder) / "skiff"
        done = subprocess.run([tools.go(), "build", "-o", program, EXAMPLES / "go/skiff.go"], capture_output=True, text=True,
                              timeout=170, cwd=folder, env=environment(GOCACHE=tools.CACHE / "go-build", GOPROXY="off",
                                                                       GOFLAGS="", GOTOOLCHAIN="local", GO111MODULE="off"))
        assert done.returncode == 0, done.stderr
        yield program


class Client:
    def __init__(self, name, command, agent, folder):
        self.name, self.command, self.agent, self.folder = name, command, agent, folder

    def environment(self, url=None):
        path = os.environ.get("PATH", os.defpath)
        if self.name == "shell":
            path += f":{pathlib.Path(tools.websocat()).parent}"
        return environment(SKIFF_URL=url or self.agent.url, SKIFF_TOKEN=self.agent.token, PATH=path)

    def start(self, *arguments, url=None, **options):
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        return subprocess.Popen([*self.command, *map(str, arguments)], cwd=self.folder, env=self.environment(url), **options)

    def __call__(self, *arguments, typed=None, url=None, status=0):
        """Runs it to its end: (stdout, stderr)."""
        process = self.start(*arguments, url=url, **({"stdin": subprocess.PIPE} if typed is not None else {}))
        try:
            out, err = process.communicate(typed, timeout=100)
        finally:
            process.kill()
        assert process.returncode == status, (process.returncode, out[-2000:], err[-2000:])
        return out, err


@pytest.fixture(params=NAMES)
def client(request, agent, tmp_path):
    name = request.param
    if name == "python":
        command = ["/usr/bin/python3", EXAMPLES / "python/skiff.py"]
    elif name == "typescript":
        command = [tools.node(), EXAMPLES / "typescript/skiff.ts"]
    elif name == "go":
        command = [request.getfixturevalue("go_program")]
    else:
        for program in ("curl", "jq"):
            tools.tool(program)
        command = ["bash", EXAMPLES / "shell/skiff.sh"]
    return Client(name, list(map(str, command)), agent, tmp_path)


def test_a_token_that_was_forgotten_is_named(client):
    client.agent = type("Forgotten", (), {"url": client.agent.url, "token": ""})
    for words in (("run", "true"), ("get", "a", "b"), ("grep", "x")):
        assert b"SKIFF_TOKEN is not set: `make run` prints the line" in client(*words, status=125)[1]


@pytest.mark.parametrize("file", ["python/skiff.py", "typescript/skiff.ts", "go/skiff.go", "shell/skiff.sh"])
def test_a_client_is_less_than_two_hundred_lines(file):
    assert len((EXAMPLES / file).read_text().splitlines()) < 200


def test_no_arguments_show_how_to_use_it(client):
    assert b"stream COMMAND" in client(status=125)[1]


# --- commands ---

def test_run_gives_stdout_stderr_and_the_exit_status(client):
    out, err = client("run", "echo \"o'ut\"; echo 'e\"rr' >&2; exit 3", status=3)
    assert (out, err) == (b"o'ut\n", b'e"rr\n')


def test_run_returns_invalid_utf8_exactly(client):
    (client.agent.root / "noise").write_bytes(noise := random.Random(1).randbytes(100_000))
    assert client("run", "cat noise; cat noise >&2") == (noise, noise)


def test_a_command_that_a_signal_ended_gives_128_and_its_number(client):
    client("run", "kill -9 $$", status=137)
    client("stream", "kill -9 $$", status=137)


def test_a_refusal_has_the_agents_own_words(client):
    client.agent.token, right = "wrong", client.agent.token
    try:
        detail = client.agent.request("GET", "/v1/sessions").problem(401)["detail"].encode()
        for what in ("run", "stream"):
            out, err = client(what, "touch ran", status=125)
            assert out == b"" and detail in err
    finally:
        client.agent.token = right
    assert not (client.agent.root / "ran").exists()


def test_stream_shows_what_comes_while_it_comes(client):
    (client.agent.root / "wait").touch()
    with client.start("stream", "echo first; while [ -e wait ]; do sleep 0.02; done; echo second; echo err >&2; exit 4") as process:
        try:
            assert process.stdout.readline() == b"first\n"
            (client.agent.root / "wait").unlink()
            assert process.communicate(timeout=60) == (b"second\n", b"err\n")
        finally:
            process.kill()
    assert process.returncode == 4


def test_stream_loses_and_repeats_nothing_when_the_connection_is_cut(client):
    """The cut may come before the first byte of the answer, when the client can't know whether the command was started."""
    source = random.Random(2)
    out, err = source.randbytes(4_000_000), source.randbytes(1_500_000)
    (client.agent.root / "out").write_bytes(out)
    (client.agent.root / "err").write_bytes(err)
    cuts = [0, 100, 0, 700, 300_001, 1_000_000, 1, 65_536, 1_500_000]
    with CuttingProxy(("127.0.0.1", client.agent.port), cuts) as proxy:
        got = client("stream", "echo once >> ran; cat out & cat err >&2; wait; exit 5", url=proxy.url, status=5)
        assert proxy.done == len(cuts)
    sums = [hashlib.sha256(data).hexdigest() for data in (*got, out, err)]
    assert sums[:2] == sums[2:], tuple(map(len, got))
    assert (client.agent.root / "ran").read_text() == "once\n"


def test_an_interrupt_of_a_stream_reaches_the_command(client):
    command = "trap 'echo in''terrupted; exit 6' INT; echo ready; while :; do sleep 0.02; done"
    with client.start("stream", command, start_new_session=True) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does it
            assert process.stdout.readline() == b"interrupted\n"
            assert process.wait(60) == 6
        finally:
            process.kill()


# --- files ---

def test_put_and_get_carry_bytes(client):
    data = random.Random(3).randbytes(5_000_000)
    (client.folder / "up").write_bytes(data)
    client("put", "up", "deep/down/a file ü%20")
    assert (client.agent.root / "deep/down/a file ü%20").read_bytes() == data
    client("get", "deep/down/a file ü%20", "back")
    assert (client.folder / "back").read_bytes() == data
    (client.folder / "empty").touch()
    client("put", "empty", "empty")
    client("get", "empty", "back")
    assert (client.agent.root / "empty").read_bytes() == (client.folder / "back").read_bytes() == b""


def test_a_file_that_is_not_there_and_one_outside_are_refused(client):
    (client.folder / "up").write_bytes(bytes(3_000_000))
    for path, arguments, problem in (("nope", ("get", "nope", "back"), (404, "path_not_found")),
                                     ("..%2Fup", ("put", "up", "../up"), (403, "path_escapes_root"))):
        method = "GET" if arguments[0] == "get" else "PUT"
        answer = client.agent.request(method, f"/v1/files/{path}", body=None if method == "GET" else b"x")
        answer.problem(*problem)
        assert answer.json()["detail"].encode() in client(*arguments, status=125)[1]


def test_edit_changes_the_file_and_shows_the_difference(client):
    (client.agent.root / "poem").write_text('one\n"two"\nthree\n')
    out, err = client("edit", "poem", '"two"\n', "2\n2½\n")
    assert (client.agent.root / "poem").read_text() == "one\n2\n2½\nthree\n"
    lines = out.decode().splitlines()
    assert '-"two"' in lines and "+2" in lines and "+2½" in lines and " three" in lines
    assert err == b""


def test_an_edit_that_does_not_fit_changes_nothing(client):
    (client.agent.root / "poem").write_text("one\ntwo\n")
    body = {"edits": [{"old": "four", "new": "4"}]}
    problem = client.agent.request("PATCH", "/v1/files/poem", json=body).problem(409, "edit_not_found")
    out, err = client("edit", "poem", "four", "4", status=125)
    assert out == b"" and problem["detail"].encode() in err
    assert (client.agent.root / "poem").read_text() == "one\ntwo\n"


def test_grep_finds_lines(client):
    (client.agent.root / "src/deep").mkdir(parents=True)
    (client.agent.root / "src/deep/a.txt").write_text("hay\na needle & more\nhay\n")
    (client.agent.root / "other.txt").write_text("needle\n")
    assert client("grep", "ne+dle", "src")[0] == b"src/deep/a.txt:2:a needle & more\n"
    assert sorted(client("grep", "ne+dle")[0].splitlines()) == [b"other.txt:1:needle", b"src/deep/a.txt:2:a needle & more"]
    assert client("grep", "no such thing", status=1)[0] == b""
    assert client("grep", "(", status=125)[1]


# --- a terminal ---

def test_a_shell_takes_what_is_piped_in(client):
    status = 0 if client.name == "shell" else 7  # websocat doesn't tell
    assert b"\nhi\r\n" in client("shell", typed=b"printf '\\nhi\\n'; exit 7\n", status=status)[0]
    assert b"\nhi\r\n" in client("shell", typed=b"printf '\\nhi\\n'\n")[0]  # its end is a Ctrl-D


def test_a_terminal_is_raw_has_a_size_passes_ctrl_c_and_is_restored(client):
    def cat_runs():
        return any(line.startswith("cat") for line in client.agent.strays().values())

    with Terminal(client.start, "shell") as terminal:
        terminal.ready()
        terminal.type(b"stty size; cat > got\n")
        terminal.seen(b"50 132")
        terminal.until(cat_runs, "cat")
        terminal.type(b"\x03")
        terminal.until(lambda: not cat_runs(), "the end of cat")
        if client.name in ("python", "typescript"):
            terminal.resize(99, 33)
            terminal.type(b"until [ \"$(stty size)\" = '33 99' ]; do sleep 0.02; done; echo res''ized\n")
            terminal.seen(b"resized")
        terminal.type(b"exit 7\n")
        terminal.until(lambda: terminal.process.poll() is not None, "the client's end")
        assert terminal.process.returncode == (0 if client.name == "shell" else 7)
        assert termios.tcgetattr(terminal.slave) == terminal.before


def test_a_terminal_that_was_never_told_its_size_has_eighty_columns(client):
    with Terminal(client.start, "shell", cols=0, rows=0) as terminal:
        terminal.ready()
        terminal.type(b"stty size; exit\n")
        terminal.seen(b"24 80")


def test_the_terminal_is_restored_when_the_agent_goes_away(client):
    with Terminal(client.start, "shell") as terminal:
        terminal.ready()
        assert client.agent.terminate() == 143
        terminal.until(lambda: terminal.process.poll() is not None, "the client's end")
        assert termios.tcgetattr(terminal.slave) == terminal.before


def test_a_shell_does_not_outlive_its_client(client):
    with Terminal(client.start, "shell") as terminal:
        terminal.ready()
        os.killpg(terminal.process.pid, signal.SIGKILL)
    until(lambda: not client.agent.strays(), what="the shell's end")
