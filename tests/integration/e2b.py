"""The tests of the dialect e2b share these calls of the Connect protocol, written byte by byte."""

import base64
import contextlib
import hashlib
import http.client
import json
import struct

import pytest

from dialect import Door

UNARY = {"Content-Type": "application/json", "Connect-Protocol-Version": "1"}
STREAM = {"Content-Type": "application/connect+json", "Connect-Protocol-Version": "1"}


def envelope(message, flags=0):
    data = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack(">BI", flags, len(data)) + data


def encoded(data):
    return base64.b64encode(data).decode()


def signature(path, operation, user, token, expires=None):
    text = ":".join([path, operation, user, token, *([str(expires)] if expires is not None else [])])
    return "v1_" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")


class Events:
    """The messages of a stream as they come; `end` is what its last envelope says."""

    def __init__(self, response):
        self.response, self.end = response, None
        assert response.status == 200, response.read()
        assert response.headers["Content-Type"] == "application/connect+json"

    def __iter__(self):
        return self

    def __next__(self):
        head = self.response.read(5)
        assert len(head) == 5, "the stream has no end"
        flags, size = struct.unpack(">BI", head)
        message = json.loads(self.response.read(size))
        if flags == 0:
            return message
        assert flags == 2, flags
        self.end = message
        assert self.response.read() == b"", "something follows the end"
        raise StopIteration

    def code(self):
        """Reads on to the end; the code of its error, None without one."""
        for _ in self:
            pass
        return self.end.get("error", {}).get("code")


class Client:
    def __init__(self, door, **headers):
        self.door, self.agent, self.headers = door, door.agent, headers

    def unary(self, method, message, status=200, **headers):
        """The answer; with another status the code of the error."""
        answer = self.door.request("POST", "/" + method, json=message, headers={**UNARY, **self.headers, **headers})
        assert answer.status == status, (answer.status, answer.body)
        return answer.json() if status == 200 else answer.json()["code"]

    @contextlib.contextmanager
    def stream(self, method, *messages, **headers):
        client = http.client.HTTPConnection("127.0.0.1", self.door.port, timeout=30)
        try:
            client.request("POST", "/" + method, body=b"".join(map(envelope, messages)),
                           headers={**STREAM, **self.headers, **headers})
            yield Events(client.getresponse())
        finally:
            client.close()

    def start(self, line, headers=None, **fields):
        """A line of /bin/sh, as a stream."""
        process = {"cmd": "/bin/sh", "args": ["-c", line], **fields.pop("process", {})}
        return self.stream("process.Process/Start", {"process": process, "stdin": False, **fields}, **(headers or {}))

    def connect(self, pid, **fields):
        return self.stream("process.Process/Connect", {"process": {"pid": pid}, **fields})

    def run(self, line, headers=None, **fields):
        """The output of the command, and its end."""
        with self.start(line, headers, **fields) as events:
            return collected(events)


class Ran:
    def __init__(self):
        self.pid, self.end, self.error = None, None, None
        self.data = {"stdout": b"", "stderr": b"", "pty": b""}

    out = property(lambda self: self.data["stdout"])
    err = property(lambda self: self.data["stderr"])
    pty = property(lambda self: self.data["pty"])


def pid_of(events):
    """The first event is the start."""
    return next(events)["event"]["start"]["pid"]


def collected(events):
    ran = Ran()
    for message in events:
        event = message["event"]
        if "start" in event:
            ran.pid = event["start"]["pid"]
        for stream in ran.data:
            if stream in event.get("data", {}):
                ran.data[stream] += base64.b64decode(event["data"][stream])
        ran.end = event.get("end", ran.end)
    ran.error = events.end.get("error")
    return ran


def output_until(events, wanted, stream="stdout"):
    """Reads events until the stream has said `wanted`; what it has said."""
    said = b""
    while wanted not in said:
        said += base64.b64decode(next(events)["event"].get("data", {}).get(stream, ""))
    return said


@pytest.fixture
def start_client(start_agent):
    def start(*arguments, headers=None, **options):
        return Client(Door(start_agent("--dialect", "e2b=127.0.0.1:0", *arguments, **options)), **(headers or {}))

    return start


@pytest.fixture
def client(start_client):
    return start_client()
