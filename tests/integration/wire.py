"""HTTP as bytes on a socket: for streams, trailers, and requests that no client library would send."""

import base64
import http.client
import io
import json
from urllib.parse import urlencode


class Answer:
    """A whole response."""

    def __init__(self, status, headers, body, trailers=None):
        self.status, self.headers, self.body, self.trailers = status, headers, body, trailers

    def json(self):
        return json.loads(self.body)

    @property
    def text(self):
        return self.body.decode()

    def problem(self, status, code=None):
        """Checks that this is a problem document (RFC 9457) with that status and code, and returns it."""
        assert self.status == status, (self.status, self.body[:500])
        assert self.headers.get_content_type() == "application/problem+json", self.headers.items()
        assert self.body.endswith(b"}\n"), self.body[-100:]
        document = self.json()
        assert document["status"] == status and isinstance(document["code"], str), document
        if code is not None:
            assert document["code"] == code, document
        return document

    def __repr__(self):
        return f"Answer({self.status}, {self.body[:300]!r})"


def request_bytes(method, path, headers, body=b"", version="1.1"):
    lines = [f"{method} {path} HTTP/{version}"] + [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Stream:
    """A response that is read while it comes. Owns its socket; use it in a `with`."""

    def __init__(self, sock, method="GET"):
        self.sock, self.method = sock, method
        self.file = sock.makefile("rb")
        self.trailers = None
        self.next_response()

    def next_response(self):
        """Reads a status line and the headers: again for the next answer on the same connection."""
        line = self.file.readline(65537)
        if not line:
            raise ConnectionError("closed without an answer")
        self.version, status, *_ = line.decode().split(" ", 2)
        self.status = int(status)
        self.headers = http.client.parse_headers(self.file)
        self.finished = False

    def chunks(self):
        """The body as it arrives, in pieces; ends with `trailers` set. Fails if it is cut short."""
        bodiless = self.method == "HEAD" or self.status in (204, 304) or self.status < 200
        if self.finished or bodiless:
            pass
        elif "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            yield from self._chunked()
        elif "Content-Length" in self.headers:
            left = int(self.headers["Content-Length"])
            while left:
                piece = self.file.read1(min(left, 1 << 20))
                if not piece:
                    raise ConnectionError(f"body cut short, {left} bytes are missing")
                left -= len(piece)
                yield piece
        else:
            while piece := self.file.read1(1 << 20):
                yield piece
        self.finished = True

    def _chunked(self):
        while True:
            line = self.file.readline(100)
            if not line.endswith(b"\r\n"):
                raise ConnectionError(f"cut short in a chunk header: {line!r}")
            left = int(line.split(b";")[0], 16)
            if left == 0:
                break
            while left:
                piece = self.file.read1(min(left, 1 << 20))
                if not piece:
                    raise ConnectionError("cut short inside a chunk")
                left -= len(piece)
                yield piece
            assert self.file.read(2) == b"\r\n"
        self.trailers = http.client.parse_headers(self.file)

    def read(self):
        return b"".join(self.chunks())

    def answer(self):
        body = self.read()
        return Answer(self.status, self.headers, body, self.trailers)

    def lines(self):
        rest = []
        for piece in self.chunks():
            *whole, tail = piece.split(b"\n")
            for line in whole:
                yield b"".join(rest) + line
                rest = []
            rest.append(tail)
        if any(rest):
            yield b"".join(rest)

    def events(self, keepalives=False):
        """NDJSON objects."""
        for line in self.lines():
            event = json.loads(line)
            assert isinstance(event.get("type"), str), event
            if keepalives or event["type"] != "keepalive":
                yield event

    def sse(self):
        """Server-sent events as (id, event, data); comments give (None, None, text)."""
        fields = {}
        for line in self.lines():
            line = line.decode().rstrip("\r")
            if line.startswith(":"):
                yield None, None, line[1:]
            elif line == "":
                if "data" in fields:
                    yield fields.get("id"), fields.get("event"), json.loads(fields["data"])
                fields = {}
            else:
                key, _, value = line.partition(":")
                value = value.removeprefix(" ")
                fields[key] = fields[key] + "\n" + value if key == "data" and key in fields else value

    def close(self):
        self.file.close()
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def parse(raw):
    """An answer out of bytes that were captured whole."""

    class Captured:
        def makefile(self, _):
            return io.BufferedReader(io.BytesIO(raw))

    return Stream(Captured()).answer()


def bytes_of(event):
    """The bytes of an `output` event: it has exactly one of `data` and `data_base64`."""
    assert event["type"] == "output", event
    assert ("data" in event) != ("data_base64" in event), event
    return event["data"].encode() if "data" in event else base64.b64decode(event["data_base64"], validate=True)


def gather(events):
    """(stdout, stderr, the other events) of a list of events."""
    out = {"stdout": [], "stderr": []}
    others = []
    for event in events:
        if event["type"] == "output":
            out[event["stream"]].append(bytes_of(event))
        else:
            others.append(event)
    return b"".join(out["stdout"]), b"".join(out["stderr"]), others


def check_contiguous(events, start=0):
    """Checks that output and gap records follow each other without a hole or a repeat; returns where they end."""
    at = start
    for event in events:
        if event["type"] == "output":
            assert event["offset"] == at, (at, event["offset"])
            assert event["next"] == at + len(bytes_of(event)), (at, event["next"])
            at = event["next"]
        elif event["type"] == "gap":
            assert event["from"] == at and event["to"] > at, (at, event)
            at = event["to"]
    return at


def query(path, **fields):
    """`path?fields`, percent-encoded; `from_` stands for `from`."""
    return path + "?" + urlencode({name.rstrip("_"): value for name, value in fields.items()})
