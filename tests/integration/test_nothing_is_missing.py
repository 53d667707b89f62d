"""No answer is incomplete in silence (docs/adr/0029-nothing-is-missing-in-silence.md): each route of /openapi.json, tool of MCP and
call of a dialect that answers with contents or a list leaves something out here, and its answer says so. One without a row fails."""

import contextlib
import fcntl
import http.client
import json
import os
import pathlib
import re
import signal
import socket

import pytest

from confined import without_rights_over_files
from mcp_client import NEWEST, Mcp
from waiting import until
from writing import DIALECTS, Everything

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "runtime/dialects"
MIB = 1 << 20
LEFT_OUT, NAMES, SPECIAL = "X-Skiff-Left-Out", "X-Skiff-Left-Out-Names", "X-Skiff-Special-Files"


@pytest.fixture
def on(start_agent):
    everything = Everything(start_agent(*DIALECTS, wrapper=without_rights_over_files()))
    root = everything.agent.root
    yield everything
    for path, directories, _ in os.walk(root):
        for name in directories:
            with contextlib.suppress(OSError):
                os.chmod(os.path.join(path, name), 0o755)


# --- what is missing -------------------------------------------------------------------------------------------------------------------

def unreadable_directory(on):
    """`d` holds `seen` and the directory `shut`, which the agent may not look into."""
    (on.agent.root / "d/shut").mkdir(parents=True)
    (on.agent.root / "d/seen").write_text("text\n")
    (on.agent.root / "d/shut/hidden").write_text("text\n")
    (on.agent.root / "d/shut").chmod(0)


@contextlib.contextmanager
def leased_file(on):
    """`d/leased` is there and can't be opened: a command holds a lease on it (fcntl(2)). `d/seen` can."""
    (on.agent.root / "d").mkdir(exist_ok=True)
    (on.agent.root / "d/seen").write_text("text\n")
    file = on.agent.root / "d/leased"
    file.write_text("text\n")
    with open(file, "r+b") as held:
        # A breaking open would send SIGIO to the lease's holder: no process is its owner.
        fcntl.fcntl(held, fcntl.F_SETSIG, 0)
        fcntl.fcntl(held, fcntl.F_SETOWN, 0)
        os.set_blocking(held.fileno(), False)
        before = signal.signal(signal.SIGIO, signal.SIG_IGN)
        try:
            fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            yield
        finally:
            fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_UNLCK)
            signal.signal(signal.SIGIO, before)


def large_file(on, path="d/a", size=64 * MIB):
    (on.agent.root / path).parent.mkdir(exist_ok=True)
    with open(on.agent.root / path, "wb") as file:
        file.truncate(size)
    return on.agent.root / path


class Slow:
    """An answer whose body waits until it is read, so that what it tells of can change meanwhile."""

    def __init__(self, port, target, headers=None, version="1.1"):
        self.sock = socket.socket()
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.sock.settimeout(30)
        self.sock.connect(("127.0.0.1", port))
        lines = [f"GET {target} HTTP/{version}", "Host: localhost", *(f"{name}: {value}" for name, value in (headers or {}).items())]
        self.sock.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
        self.file = self.sock.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.headers = http.client.parse_headers(self.file)
        self.trailers = None

    def body(self):
        """All of it, and the trailers; None where it was cut."""
        size = 0
        with contextlib.closing(self.sock), self.file:
            try:
                if self.headers["Transfer-Encoding"] != "chunked":
                    whole = int(self.headers["Content-Length"])
                    while size < whole:
                        piece = self.file.read(min(MIB, whole - size))
                        if not piece:
                            return None
                        size += len(piece)
                    return size
                while True:
                    line = self.file.readline()
                    if not line.endswith(b"\r\n"):
                        return None
                    length = int(line, 16)
                    if length == 0:
                        self.trailers = http.client.parse_headers(self.file)
                        return size
                    piece = self.file.read(length + 2)
                    if len(piece) < length + 2:
                        return None
                    size += length
            except ConnectionResetError:
                return None


def archive(on, query="path=d", version="1.1"):
    return Slow(on.agent.port, f"/v1/files:archive?{query}", {"Authorization": f"Bearer {on.agent.token}"}, version)


def lines(answer):
    return [json.loads(line) for line in answer.text.splitlines()]


# --- the agent's own routes ------------------------------------------------------------------------------------------------------------

def read_file(on):
    with leased_file(on):
        assert on.agent.request("GET", "/v1/files/d/leased").status >= 400
    assert on.agent.request("GET", "/v1/files/d/none").status == 404
    file = large_file(on)
    slow = Slow(on.agent.port, "/v1/files/d/a", {"Authorization": f"Bearer {on.agent.token}"})
    os.truncate(file, 10)
    assert slow.body() is None
    unreadable_directory(on)
    assert on.agent.request("GET", "/v1/files/d/shut/hidden").status == 403


def list_files(on):
    unreadable_directory(on)
    assert on.agent.request("GET", "/v1/files:list?path=d&recursive=true").json()["unreadable"] == 1
    assert "unreadable" not in on.agent.request("GET", "/v1/files:list?path=d").json()
    assert on.agent.request("GET", "/v1/files:list?path=d/shut").status == 403
    deep = on.agent.root
    for _ in range(300):
        deep = deep / "x"
        deep.mkdir()
    cursor, told = "", False
    while cursor is not None:
        page = on.agent.request("GET", f"/v1/files:list?recursive=true&cursor={cursor}" if cursor else "/v1/files:list?recursive=true").json()
        told, cursor = told or page.get("too_deep", False), page.get("next_cursor")
    assert told


def stat_files(on):
    (on.agent.root / "f").write_text("")
    unreadable_directory(on)
    items = on.agent.request("GET", "/v1/files:stat?path=f&path=none&path=d/shut/hidden").json()["items"]
    assert ["error" in item for item in items] == [False, True, True]


def glob_files(on):
    unreadable_directory(on)
    *found, summary = lines(on.agent.request("GET", "/v1/files:glob?pattern=**"))
    assert summary["unreadable"] == 1 and any(one["path"] == "d/seen" for one in found)


def grep_files(on):
    unreadable_directory(on)
    (on.agent.root / "d/binary").write_bytes(b"text\0text\n")
    (on.agent.root / "d/wide").write_text("text\n", encoding="utf-16")
    with leased_file(on):
        *found, summary = lines(on.agent.request("GET", "/v1/files:grep?pattern=text"))
    assert [one["path"] for one in found] == ["d/seen"]
    assert (summary["unreadable"], summary["binary"], summary["searched"]) == (2, 2, 1)
    (summary,) = lines(on.agent.request("GET", "/v1/files:grep?pattern=text&path=d/binary"))
    assert (summary["binary"], summary["searched"]) == (1, 0)
    with leased_file(on):
        assert on.agent.request("GET", "/v1/files:grep?pattern=text&path=d/leased").status >= 400
    *_, summary = lines(on.agent.request("GET", "/v1/files:grep?pattern=text&limit=1&path=d"))
    (on.agent.root / "d/second").write_text("text\n")
    *_, summary = lines(on.agent.request("GET", "/v1/files:grep?pattern=text&limit=1&path=d"))
    assert summary["truncated"] is True


def read_archive(on):
    unreadable_directory(on)
    os.mkfifo(on.agent.root / "d/fifo")
    with leased_file(on):
        told = archive(on)
        assert set(told.headers["Trailer"].split(", ")) == {LEFT_OUT, NAMES, SPECIAL}
        assert told.body() is not None
        assert told.trailers[LEFT_OUT] == "2" and told.trailers[SPECIAL] == "1"
        assert set(told.trailers[NAMES].split(", ")) == {"unreadable leased", "unreadable shut"}
        assert archive(on, "path=d&whole=true").status >= 400, "nothing was sent yet"
        assert on.agent.request("GET", "/v1/files:archive?path=d/leased").status >= 400
        before = on.agent.root / "d/a"
        before.write_bytes(os.urandom(2 * MIB))
        cut = archive(on, "path=d&whole=true")
        assert cut.status == 200 and cut.body() is None
        old = on.agent.exchange(f"GET /v1/files:archive?path=d HTTP/1.0\r\nAuthorization: Bearer {on.agent.token}\r\n\r\n".encode())
        assert not old.endswith(bytes(1024)), "the archive has its end mark"
        before.unlink()
    assert on.agent.request("GET", "/v1/files:archive?path=d/shut").status == 403
    (on.agent.root / "d/shut").chmod(0o755)
    (on.agent.root / "d/fifo").unlink()
    told = archive(on)
    assert told.body() is not None and told.trailers[LEFT_OUT] == "0" and NAMES not in told.trailers and SPECIAL not in told.trailers
    for form in ("tar", "tar.gz", "tar.zst"):
        file = large_file(on, size=64 * MIB)
        if form != "tar":  # zeros would be packed to nothing: there is no time to do something meanwhile
            file.write_bytes(os.urandom(16 * MIB))
        (on.agent.root / "d/é, f").write_text("goes")
        slow = archive(on, f"path=d&format={form}")
        # In this order: once the file is short, its zeros may be packed to so little that nothing waits any more.
        (on.agent.root / "d/é, f").unlink()
        os.truncate(file, 10)
        assert slow.body() is not None
        assert slow.trailers[LEFT_OUT] == "2"
        assert slow.trailers[NAMES] == "changed a, vanished %C3%A9%2C%20f"


def watch_files(on):
    (on.agent.root / "d/e").mkdir(parents=True)
    with on.agent.stream("GET", "/v1/files:watch?path=d/e") as stream:
        events = watched(stream)
        assert next(events)["type"] == "watching"
        os.rename(on.agent.root / "d", on.agent.root / "moved")
        assert next(events) == {"type": "deleted", "path": "d/e", "is_directory": True, "cursor": ANY}
        (on.agent.root / "moved/e/f").write_text("")
        assert list(events) == []
    (on.agent.root / "e").mkdir()
    # A cursor that nobody remembers.
    with on.agent.stream("GET", "/v1/files:watch?path=e&cursor=1") as stream:
        events = watched(stream)
        assert [next(events)["type"], next(events)["type"]] == ["watching", "overflow"]
        (on.agent.root / "e").rmdir()


def copy_file(on):
    (on.agent.root / "tree").mkdir()
    (on.agent.root / "tree/f").write_text("x")
    os.mkfifo(on.agent.root / "tree/fifo")
    answer = on.agent.request("POST", "/v1/files:copy", json={"from": "tree", "to": "copy"})
    assert answer.status == 201 and answer.headers[SPECIAL] == "1" and (on.agent.root / "copy/f").exists()
    unreadable_directory(on)
    on.agent.request("POST", "/v1/files:copy", json={"from": "d", "to": "other"}).problem(403, "permission_denied")
    assert not (on.agent.root / "other").exists()
    with leased_file(on):
        assert on.agent.request("POST", "/v1/files:copy", json={"from": "d/leased", "to": "other"}).status >= 400


def write_archive(on):
    """An archive that is cut short creates no file."""
    assert on.agent.request("PUT", "/v1/files:archive?path=x", body=b"cut").status == 400
    assert not (on.agent.root / "x/cut").exists()


ANY = type("Any", (), {"__eq__": lambda *_: True, "__hash__": None})()


def watched(stream):
    for line in stream.lines():
        if line.startswith(b"data:"):
            yield json.loads(line[5:])


ROUTES = {
    "readFile": read_file, "listFiles": list_files, "statFiles": stat_files, "globFiles": glob_files, "grepFiles": grep_files,
    "readArchive": read_archive, "watchFiles": watch_files, "copyFile": copy_file, "writeArchive": write_archive,
}

# Why a route has none.
MEMORY = "what it tells is in the agent's memory, and comes whole or by pages with a cursor"
ONE = "one thing, whole or an error"
OUTPUT = "gaps of the output are told, by events and X-Omitted-Bytes: tests/integration/test_output.py"
PASSED = "what it passes on is framed by the server behind it, and cut where that cuts: tests/integration/test_ports.py"
CHANGE = "a change: all of it, or an error"
PROC = "a look at /proc, where what is not to be seen belongs to others"
WITHOUT = {
    **dict.fromkeys(("introduce", "healthz", "readyz", "openapi", "asyncapi", "showVersion", "showCapabilities", "metrics", "showStats",
                     "showActivity", "showSession", "showCommand"), ONE),
    **dict.fromkeys(("listSessions", "listCommands", "listCodeContexts", "waitFor"), MEMORY),
    **dict.fromkeys(("listPorts", "listProcesses"), PROC),
    **dict.fromkeys(("runScript", "runCode", "openShell", "connect", "runAttached", "startCommand", "readOutput", "attach"), OUTPUT),
    **dict.fromkeys(("getPort", "postPort", "putPort", "patchPort", "deletePort", "optionsPort", "openPort"), PASSED),
    **dict.fromkeys(("initialise", "renewLease", "createSession", "createCodeContext", "restartCodeContext", "deleteCodeContext", "putSession", "patchSession", "deleteSession", "deleteCommand", "writeStdin",
                     "signalCommand", "resizeCommand", "writeFile", "changeFile", "deleteFile", "moveFile", "makeDirectory", "makeLink",
                     "setFileMode", "changeFiles", "mcpEnd"), CHANGE),
    **dict.fromkeys(("mcpSend", "mcpListen"), "see TOOLS and METHODS"),
}


# --- MCP -------------------------------------------------------------------------------------------------------------------------------

def mcp_read_file(on):
    with leased_file(on):
        on.mcp.tool_error("read_file", path="d/leased")
    (on.agent.root / "f").write_text("x" * 100)
    assert on.mcp.tool("read_file", path="f", max_bytes=10)["truncated"] is True


def mcp_list_directory(on):
    unreadable_directory(on)
    assert on.mcp.tool("list_directory", path="d", recursive=True)["unreadable"] == 1
    on.mcp.tool_error("list_directory", path="d/shut")


def mcp_find_files(on):
    unreadable_directory(on)
    assert on.mcp.tool("find_files", pattern="**")["unreadable"] == 1


def mcp_search_files(on):
    unreadable_directory(on)
    (on.agent.root / "d/binary").write_bytes(b"text\0")
    with leased_file(on):
        found = on.mcp.tool("search_files", pattern="text")
    assert (found["unreadable"], found["binary"]) == (2, 1)


def mcp_watch_changes(on):
    (on.agent.root / "d").mkdir()
    assert on.mcp.tool("watch_changes", path="d", cursor=1, wait_ms=0)["items"][0]["type"] == "overflow"
    (on.agent.root / "d").rmdir()


TOOLS = {"read_file": mcp_read_file, "list_directory": mcp_list_directory, "find_files": mcp_find_files, "search_files": mcp_search_files,
         "watch_changes": mcp_watch_changes}
TOOLS_WITHOUT = {
    **dict.fromkeys(("run_command", "run_code", "read_output", "wait_for"), OUTPUT),
    **dict.fromkeys(("list_commands", "list_sessions"), MEMORY),
    **dict.fromkeys(("write_input", "send_signal", "write_file", "edit_file", "apply_changes", "create_session", "delete_session"), CHANGE),
}


def mcp_resources_read(on):
    with leased_file(on), pytest.raises(Exception):
        on.mcp.call("resources/read", {"uri": "skiff://default/files/d/leased"})


def mcp_resources_list(on):
    with open(os.fsencode(on.agent.root) + b"/\xff", "w"):
        pass
    assert on.mcp.call("resources/list")["_meta"]["skiff/left_out"] == 1


METHODS = {"resources/read": mcp_resources_read, "resources/list": mcp_resources_list}


# --- dialects --------------------------------------------------------------------------------------------------------------------------

def refuses_leased(target):
    def scenario(on):
        with leased_file(on):
            assert door_of(target, on).request("GET", target[1]).status >= 400
        file = large_file(on)
        slow = Slow(door_of(target, on).port, target[1].replace("leased", "a"))
        os.truncate(file, 10)
        assert slow.body() is None

    return scenario


def door_of(target, on):
    return {"e2b": on.e2b.door, "kubebox": on.kubebox, "python": on.python, "sandboxd": on.sandboxd}[target[0]]


def kubebox_read_file(on):
    with leased_file(on):
        assert on.kubebox.request("GET", "/read_file?session_id=s&file_path=d/leased").status >= 400


def kubebox_paths(on):
    unreadable_directory(on)
    slow = Slow(on.kubebox.port, "/get_all_file_paths?session_id=s")
    assert slow.headers["Trailer"] == LEFT_OUT and slow.body() is not None and slow.trailers[LEFT_OUT] == "1"
    old = on.kubebox.exchange(b"GET /get_all_file_paths?session_id=s HTTP/1.0\r\n\r\n")
    assert not old.endswith(b"]")


def e2b_list(on):
    unreadable_directory(on)
    assert on.e2b.unary("filesystem.Filesystem/ListDir", {"path": "d", "depth": 3}, 403) == "permission_denied"


def e2b_stat(on):
    assert on.e2b.unary("filesystem.Filesystem/Stat", {"path": "none"}, 404) == "not_found"


def e2b_watch(on):
    (on.agent.root / "d/e").mkdir(parents=True)
    made = on.e2b.unary("filesystem.Filesystem/CreateWatcher", {"path": "d/e"})
    os.rename(on.agent.root / "d", on.agent.root / "moved")
    seen = []

    def removed():
        seen.extend(on.e2b.unary("filesystem.Filesystem/GetWatcherEvents", made).get("events", []))
        return any(one["type"] == "EVENT_TYPE_REMOVE" for one in seen)

    until(removed)
    on.e2b.unary("filesystem.Filesystem/RemoveWatcher", made)


def e2b_watch_dir(on):
    (on.agent.root / "d").mkdir()
    with on.e2b.stream("filesystem.Filesystem/WatchDir", {"path": "d"}) as events:
        assert "start" in next(events)
        os.rename(on.agent.root / "d", on.agent.root / "moved")
        told = [one["filesystem"]["type"] for one in events if "filesystem" in one]
        assert told == ["EVENT_TYPE_REMOVE"]


def python_list(on):
    unreadable_directory(on)
    assert on.python.request("GET", "/list/d/shut").status >= 400


def sandboxd_files(on):
    refuses_leased(("sandboxd", "/v1/files/d/leased"))(on)
    unreadable_directory(on)
    assert on.sandboxd.request("GET", "/v1/files/d/shut").status >= 400
    os.symlink("nowhere", on.agent.root / "d/dangling")
    assert on.sandboxd.request("GET", "/v1/files/d").headers[LEFT_OUT] == "1"


CALLS = {
    "kubebox GET /read_file": kubebox_read_file,
    "kubebox GET /get_file": refuses_leased(("kubebox", "/get_file?session_id=s&file_path=d/leased")),
    "kubebox GET /get_all_file_paths": kubebox_paths,
    "python_runtime GET /download/": refuses_leased(("python", "/download/d%2Fleased")),
    "python_runtime GET /list/": python_list,
    "e2b GET /files": refuses_leased(("e2b", "/files?path=d/leased")),
    "e2b POST /filesystem.Filesystem/ListDir": e2b_list,
    "e2b POST /filesystem.Filesystem/Stat": e2b_stat,
    "e2b POST /filesystem.Filesystem/WatchDir": e2b_watch_dir,
    "e2b POST /filesystem.Filesystem/GetWatcherEvents": e2b_watch,
    "sandboxd GET /v1/files/": sandboxd_files,
}
CALLS_WITHOUT = {
    **dict.fromkeys(("kubebox GET /", "kubebox GET /file_exists", "python_runtime GET /", "python_runtime GET /exists/", "e2b GET /health",
                     "e2b GET /metrics", "e2b GET /envs", "sandboxd GET /v1/health", "sandboxd GET /v1/metadata"), ONE),
    **dict.fromkeys(("kubebox GET /socket.io", "kubebox POST /run_command", "kubebox POST /get_website_console_logs",
                     "python_runtime POST /execute", "e2b POST /execute", "e2b POST /process.Process/Start", "e2b POST /process.Process/Connect"), OUTPUT),
    **dict.fromkeys(("e2b POST /process.Process/List", "e2b GET /contexts"), MEMORY),
    **dict.fromkeys(("kubebox POST /initialize", "kubebox POST /kill_command", "kubebox POST /kill_all_processes", "kubebox POST /write_file",
                     "kubebox POST /make_dirs", "kubebox POST /delete_file", "python_runtime POST /upload", "e2b POST /init",
                     "e2b POST /contexts", "e2b POST /contexts/", "e2b DELETE /contexts/",
                     "e2b POST /files", "e2b POST /process.Process/StreamInput", "e2b POST /process.Process/Update",
                     "e2b POST /process.Process/SendInput", "e2b POST /process.Process/SendSignal", "e2b POST /process.Process/CloseStdin",
                     "e2b POST /filesystem.Filesystem/MakeDir", "e2b POST /filesystem.Filesystem/Move",
                     "e2b POST /filesystem.Filesystem/Remove", "e2b POST /filesystem.Filesystem/CreateWatcher",
                     "e2b POST /filesystem.Filesystem/RemoveWatcher", "sandboxd PUT /v1/files/", "sandboxd DELETE /v1/files/"), CHANGE),
}


# --- that all of them are there --------------------------------------------------------------------------------------------------------

def test_each_route_has_a_row(agent):
    document = agent.request("GET", "/openapi.json").json()
    there = {operation["operationId"] for methods in document["paths"].values() for method, operation in methods.items()
             if isinstance(operation, dict) and "operationId" in operation}
    assert there == ROUTES.keys() | WITHOUT.keys() and not ROUTES.keys() & WITHOUT.keys()


def test_each_tool_has_a_row(agent):
    tools = {tool["name"] for tool in Mcp(agent, NEWEST).call("tools/list")["tools"]}
    assert tools == TOOLS.keys() | TOOLS_WITHOUT.keys() and not TOOLS.keys() & TOOLS_WITHOUT.keys()


def test_each_call_of_a_dialect_has_a_row():
    there = set()
    for dialect, file in (("e2b", "dialect.cpp"), ("kubebox", "dialect.cpp"), ("python_runtime", "dialect.cpp"), ("sandboxd", "rest.cpp")):
        text = (SOURCES / dialect / file).read_text()
        constants = dict(re.findall(r'constexpr std::string_view (\w+) = "([^"]+)"', text))
        rows = re.findall(r'Row\{\.method = "(\w+)", \.path = (?:"([^"{]+)|(\w+))', text)
        there |= {f"{dialect} {method} {path or constants[name]}" for method, path, name in rows}
    assert there == CALLS.keys() | CALLS_WITHOUT.keys() and not CALLS.keys() & CALLS_WITHOUT.keys()


@pytest.mark.parametrize("row", [*ROUTES, *(f"tool {name}" for name in TOOLS), *METHODS, *CALLS])
def test_each_incomplete_answer_says_so(on, row):
    {**ROUTES, **{f"tool {name}": scenario for name, scenario in TOOLS.items()}, **METHODS, **CALLS}[row](on)
