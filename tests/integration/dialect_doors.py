"""Each way into the agent as the same thing: how it runs a command, keeps a file, ends what it started, and refuses. A door names
in `lacks` what it does not have, with the reason: the tests of every dialect leave that out, and nothing else."""

import base64
import contextlib
import json
import struct
import urllib.parse

import pytest

import dialect
import e2b
import kubebox
from agent import binary
from grpc_client import Client, config, executed, field
from python_runtime import JSON, MULTIPART, multipart
from wire import request_bytes

OCTETS = {"Content-Type": "application/octet-stream"}
# A door can do these things. Each class below has each of them, or names it in `lacks`, where it becomes None.
ABILITIES = ("command", "run_as", "killable", "hold", "unread", "write", "read", "remove", "streams_files", "limits_bodies",
             "forgets_the_deaf", "says_when", "allows_head")
# A lack that is a mistake: its tests are run, and must fail until somebody mends it and takes it off the list.
MISTAKE = "mistake: "


class Ask:
    """A request that was not sent yet."""

    def __init__(self, method, path, body=None, headers=(), json_body=None):
        self.method, self.path, self.headers = method, path, dict(headers)
        self.body = body if json_body is None else json.dumps(json_body).encode()
        if json_body is not None:
            self.headers = {**JSON, **self.headers}


class Refused(Exception):
    """The door ran no command; `code` is what its protocol calls the reason."""

    def __init__(self, code, answer=None):
        super().__init__(code, answer)
        self.code, self.answer = code, answer


def quoted(name):
    return urllib.parse.quote(name, safe="")


class AnyDoor:
    """`name`: as in --dialect; None for the agent's own API. `doors`: how many addresses its dialect has. `session`: of its commands.
    `draining`, `busy`: what it calls these reasons."""
    name = probe = None
    doors, session = 1, "default"
    streams_files = allows_head = says_when = forgets_the_deaf = True

    def __init_subclass__(cls):
        for ability in getattr(cls, "lacks", ()):
            setattr(cls, ability, None)

    @classmethod
    def options(cls):
        return ["--dialect", f"{cls.name}={','.join(['127.0.0.1:0'] * cls.doors)}"] if cls.name else []


class HttpDoor(AnyDoor):
    """A door that speaks HTTP/1.1. Its commands are answered in JSON and its files are below /v1/files/, or it says otherwise."""
    draining, busy = 503, 429

    def __init__(self, agent):
        self.agent, self.files, self.own_headers = agent, agent.root, {}
        self.door = self.open(agent)

    def open(self, agent):
        return dialect.Door(agent)

    def connect(self):
        return self.door.connect()

    def exchange(self, data):
        return self.door.exchange(data)

    def bytes(self, ask, **headers):
        """The request as it goes out; `headers` replace what it has, and a value None removes a field."""
        length = {} if ask.body is None else {"Content-Length": len(ask.body)}
        given = {"Host": self.door.host, **self.own_headers, **length, **ask.headers, **headers}
        return request_bytes(ask.method, ask.path, {name: value for name, value in given.items() if value is not None},
                             ask.body or b"")

    def send(self, ask, **headers):
        return self.door.request(ask.method, ask.path, body=ask.body, headers={**ask.headers, **headers}, timeout=60)

    def get(self, path, **headers):
        return self.send(Ask("GET", path), **headers)

    def is_well(self):
        return self.get(self.probe).status in (200, 204)

    def use(self):
        """Asks for something that is neither a probe nor costs much."""
        assert self.send(self.read("missing")).status < 500

    def changes(self):
        """Requests that would leave a file `made`."""
        return [*([self.command("touch made")] if self.command else ()), self.write("made", b"x")]

    def run(self, line, limit=None):
        """(stdout, exit code) of a line of sh."""
        return self.ran(self.send(self.command(line, limit)))

    def ran(self, answer):
        if answer.status != 200:
            raise Refused(answer.status, answer)
        return answer.json()["stdout"].encode(), answer.json()["exit_code"]

    def run_as(self, user, line):
        return self.ran(self.send(self.command(line, user=user)))

    @contextlib.contextmanager
    def hold(self, line, limit=None):
        """A connection on which a client waits for the line's end."""
        with self.connect() as sock:
            sock.sendall(self.bytes(self.command(line, limit)))
            yield sock

    def streamed(self, line):
        """A request whose answer is the output while it is written."""
        return self.command(line)

    @contextlib.contextmanager
    def unread(self, line):
        """A client that reads nothing of the line's output."""
        with self.connect() as sock:
            sock.sendall(self.bytes(self.streamed(line)))
            yield

    def write(self, name, data):
        return Ask("PUT", f"/v1/files/{quoted(name)}", data)

    def read(self, name):
        return Ask("GET", f"/v1/files/{quoted(name)}")

    def remove(self, name):
        return Ask("DELETE", f"/v1/files/{quoted(name)}")

    def put(self, name, data):
        answer = self.send(self.write(name, data))
        assert answer.status in (200, 201, 204), answer

    def content(self, name):
        answer = self.send(self.read(name))
        assert answer.status == 200, answer
        return answer.body


class Own(HttpDoor):
    """The agent's own API, for reference."""
    probe, unknown = "/healthz", "/v1/nope"
    lacks = {"run_as": "it switches users for those who may: tests/integration/test_isolation.py"}
    gets = ("/healthz", "/v1/version", "/v1/files/f")
    limits_bodies = (("/v1/commands", (1 << 20) + 1),)
    wrong = (("DELETE", "/v1/sessions"), ("POST", "/healthz"))

    def open(self, agent):
        self.own_headers = {"Authorization": f"Bearer {agent.token}"}
        return agent

    def sentence(self, answer):
        return answer.problem(answer.status)["detail"]

    def command(self, line, limit=None, **fields):
        return Ask("POST", "/v1/commands", json_body={
            "command": line, "mode": "wait", "on_disconnect": "kill", **fields,
            **({"timeout_ms": int(limit * 1000)} if limit else {})})

    @contextlib.contextmanager
    def killable(self, line):
        started = self.agent.start(line)
        yield lambda: self.agent.request("DELETE", f"/v1/commands/{started['id']}")

    def streamed(self, line):
        return self.command(line, mode="stream", on_disconnect="continue")


class E2b(HttpDoor):
    name, probe, unknown = "e2b", "/health", "/nope"
    lacks = {"says_when": "a stream tells at its end",
             "hold": "a process outlives a client that goes, as with envd: test_e2b.py",
             "limits_bodies": "a stream tells at its end that a message is too large: test_e2b.py"}
    gets = ("/health", "/envs", "/files?path=f")
    wrong = (("GET", "/process.Process/List"), ("DELETE", "/files"), ("POST", "/envs"))
    busy = "resource_exhausted"

    def __init__(self, agent):
        super().__init__(agent)
        self.client = e2b.Client(self.door)

    def sentence(self, answer):
        assert answer.json()["code"] == answer.status, answer
        return answer.json()["message"]

    def command(self, line, limit=None):
        timeout = {"Connect-Timeout-Ms": str(int(limit * 1000))} if limit else {}
        process = {"process": {"cmd": "/bin/sh", "args": ["-c", line]}, "stdin": False}
        return Ask("POST", "/process.Process/Start", e2b.envelope(process), {**e2b.STREAM, **timeout})

    def ran(self, answer):
        if answer.status != 200:
            raise Refused(answer.status, answer)
        said, code, at = b"", None, 0
        while at < len(answer.body):
            flags, size = struct.unpack(">BI", answer.body[at:at + 5])
            message = json.loads(answer.body[at + 5:at + 5 + size])
            at += 5 + size
            if flags and "error" in message:
                raise Refused(message["error"]["code"], answer)
            event = message.get("event", {})
            said += base64.b64decode(event.get("data", {}).get("stdout", ""))
            code = event.get("end", {}).get("exitCode", code)
        return said, code

    def run_as(self, user, line):
        basic = "Basic " + e2b.encoded(f"{user}:".encode())
        return self.ran(self.send(self.command(line), Authorization=basic))

    @contextlib.contextmanager
    def killable(self, line):
        with self.client.start(line) as events:
            process = {"process": {"pid": e2b.pid_of(events)}}
            yield lambda: self.client.unary("process.Process/SendSignal", {**process, "signal": "SIGNAL_SIGKILL"})

    def write(self, name, data):
        return Ask("POST", f"/files?path={quoted(name)}", data, OCTETS)

    def read(self, name):
        return Ask("GET", f"/files?path={quoted(name)}")

    def remove(self, name):
        return Ask("POST", "/filesystem.Filesystem/Remove", headers=e2b.UNARY, json_body={"path": name})


class Kubebox(HttpDoor):
    name, probe, unknown, session = "kubebox", "/", "/nope", "s"
    lacks = {"streams_files": "its files are texts of JSON"}
    gets = ("/", *(f"/{route}?session_id=s&file_path=f" for route in ("read_file", "get_file", "file_exists", "get_all_file_paths")))
    limits_bodies = (("/run_command", 2 << 20), ("/write_file", 11 << 20))
    wrong = (("GET", "/run_command"), ("POST", "/read_file"), ("PUT", "/"))

    def open(self, agent):
        self.files = agent.root / "ws"
        return kubebox.Kubebox(agent)

    def sentence(self, answer):
        return answer.json()["detail"]

    def command(self, line, limit=None, **fields):
        return Ask("POST", "/run_command", json_body={"session_id": "s", "command": line, "mode": "wait",
                                                      "timeout": limit or 60, **fields})

    @contextlib.contextmanager
    def killable(self, line):
        process = self.door.start(line, mode="background")
        yield lambda: self.door.post("kill_command", session_id="s", process_id=process)

    @contextlib.contextmanager
    def unread(self, line):
        process = self.door.start(line)
        with self.door.socket() as silent:
            silent.follow(process)
            yield

    def write(self, name, data):
        return Ask("POST", "/write_file", json_body={"session_id": "s", "file_path": name, "content": data.decode(), "make_dirs": True})

    def read(self, name):
        return Ask("GET", kubebox.route_with("get_file", {"session_id": "s", "file_path": name}))

    def remove(self, name):
        return Ask("POST", "/delete_file", json_body={"session_id": "s", "file_path": name})


class PythonRuntime(HttpDoor):
    name, probe, unknown = "python-runtime", "/", "/nope"
    lacks = {"killable": "it has no route that ends a command: its client goes",
             **dict.fromkeys(("unread", "forgets_the_deaf"), "it answers when the command has ended"),
             "remove": "it has no route that removes a file"}
    gets = ("/", "/download/f", "/list/", "/exists/f")
    limits_bodies = (("/execute", 2 << 20),)
    wrong = (("GET", "/execute"), ("GET", "/upload"), ("DELETE", "/download/f"), ("PATCH", "/list/"), ("POST", "/"))

    def sentence(self, answer):
        (said,) = answer.json().values()
        return said

    def command(self, line, limit=None, **fields):
        return Ask("POST", "/execute", json_body={"command": line, **({"timeout_seconds": limit} if limit else {}), **fields})

    def write(self, name, data):
        return Ask("POST", "/upload", multipart(name.replace('"', "%22").encode(), data), MULTIPART)

    def read(self, name):
        return Ask("GET", f"/download/{quoted(name)}")


class SandboxdRest(HttpDoor):
    name, probe, unknown, doors = "sandboxd", "/v1/health", "/v2/nope", 2
    lacks = {**dict.fromkeys(("command", "run_as", "killable", "hold", "unread", "forgets_the_deaf", "says_when"),
                             "its commands go through the gRPC door"),
             "limits_bodies": "its bodies are files"}
    gets = ("/v1/health", "/v1/metadata", "/v1/files/f", "/v1/files/")
    wrong = (("POST", "/v1/files/x"), ("PUT", "/v1/health"), ("DELETE", "/v1/metadata"))

    def open(self, agent):
        rest = dialect.Door(agent)
        dialect.Door(agent)
        return rest

    def sentence(self, answer):
        if answer.headers["Content-Type"].startswith("text/plain"):  # Go's own router
            return answer.text
        assert answer.json()["code"].isupper(), answer
        return answer.json()["message"]


class SandboxdGrpc(AnyDoor):
    """The door that speaks HTTP/2."""
    name, probe, doors = "sandboxd", "/grpc.health.v1.Health/Check", 2
    lacks = {**dict.fromkeys(("write", "read", "remove", "streams_files"), "its files go through the REST door"),
             **dict.fromkeys(("allows_head", "says_when"), "it speaks HTTP/2 alone"),
             "forgets_the_deaf": "who answers pings may read as late as he likes: test_sandboxd.py",
             "limits_bodies": "a message has a limit, and a call no body: test_sandboxd.py"}
    draining, busy = 14, 8
    changes = tuple

    def __init__(self, agent):
        self.agent, self.files = agent, agent.root
        dialect.Door(agent)
        self.door = dialect.Door(agent)

    def connect(self):
        return self.door.connect()

    def call(self, method, message, headers=()):
        with Client(self.door) as client:
            return client.unary(method, message, headers=headers)

    def is_well(self):
        return self.call(self.probe, b"").messages() == [field(1, 1)]

    def use(self):
        assert self.call("SendSignal", field(1, 424242) + field(2, 15)).status == 5

    def command(self, line):
        return config("sh", "-c", line)

    def run(self, line, headers=()):
        call = self.call("Execute", self.command(line), headers)
        if call.status:
            raise Refused(call.status, call)
        code, out, _ = executed(call)
        return out, code

    def run_as(self, user, line):
        return self.run(line, [("authorization", "Basic " + e2b.encoded(f"{user}:".encode())), ("user", user)])

    @contextlib.contextmanager
    def hold(self, line, limit=None):
        with Client(self.door) as client:
            timeout = [("grpc-timeout", f"{int(limit * 1000)}m")] if limit else []
            client.begin("Execute", self.command(line), headers=timeout)
            yield client.sock

    @contextlib.contextmanager
    def killable(self, line):
        with Client(self.door) as client:
            _, number = client.start("sh", "-c", line)
            yield lambda: client.unary("SendSignal", field(1, number) + field(2, 9))

    @contextlib.contextmanager
    def unread(self, line):
        with Client(self.door, reads=False) as client:
            client.begin("Start", self.command(line))
            yield


def known():
    """The doors of this program: a build may leave kubebox out."""
    with open(binary(), "rb") as program:
        has_kubebox = b"skiffd speaks kubebox here" in program.read()
    return [door for door in (Own, E2b, Kubebox, PythonRuntime, SandboxdRest, SandboxdGrpc) if has_kubebox or door is not Kubebox]


DOORS = known()
HTTP = [door for door in DOORS if issubclass(door, HttpDoor)]


def doors(*abilities, of=DOORS, settings=()):
    """Runs a test at each of these doors that has the abilities: `at`, of an agent with the settings."""
    def runs(door):
        lacks = [door.lacks[one] for one in abilities if one in door.lacks]
        mistakes = [lack for lack in lacks if lack.startswith(MISTAKE)]
        marks = [pytest.mark.xfail(strict=True, reason=mistake) for mistake in mistakes]
        return [pytest.param((door, settings), id=door.__name__, marks=marks)] if mistakes == lacks else []

    return pytest.mark.parametrize("at", [param for door in of for param in runs(door)], indirect=True)


@pytest.fixture
def at(request, start_agent):
    door, settings = request.param
    return door(start_agent(*door.options(), *settings))
