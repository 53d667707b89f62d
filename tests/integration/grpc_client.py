"""A gRPC client of little more than HTTP/2's state machine (h2), so that a test sees every frame and decides when windows
are given back."""

import socket
import struct
import time

import h2.config
import h2.connection
import h2.events
import h2.settings

# RFC 9113, 6.8: what has begun goes on after GOAWAY. h2 takes nothing more of a connection then.
h2.connection.H2ConnectionStateMachine._transitions[
    h2.connection.ConnectionState.CLIENT_OPEN, h2.connection.ConnectionInputs.RECV_GOAWAY] = (
        None, h2.connection.ConnectionState.CLIENT_OPEN)

METHODS = "/process.v1.ProcessService/"


def varint(number):
    number &= (1 << 64) - 1  # protobuf's form of negative ones
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    """A field of a message: text, bytes (messages too) or a number."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def fields(message):
    """[(number, value)] of a message."""
    at, found = 0, []

    def number():
        nonlocal at
        shift = value = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = number()
        if key & 7 == 0:
            found.append((key >> 3, number()))
        else:
            assert key & 7 == 2, key
            size = number()
            found.append((key >> 3, message[at:at + size]))
            at += size
    return found


def config(*command, env=None, cwd=None):
    out = b"".join(field(1, word) for word in command)
    for name, value in (env or {}).items():
        out += field(2, field(1, name) + field(2, value))
    return field(1, out + (field(3, cwd) if cwd is not None else b""))


class Call:
    def __init__(self):
        self.data = b""
        self.headers, self.trailers = {}, {}
        self.reset = None
        self.over = False

    @property
    def status(self):
        """grpc-status, wherever it came."""
        value = {**self.headers, **self.trailers}.get("grpc-status")
        return None if value is None else int(value)

    @property
    def message(self):
        return {**self.headers, **self.trailers}.get("grpc-message", "")

    def messages(self):
        """The whole messages that have come so far."""
        found, at = [], 0
        while at + 5 <= len(self.data):
            compressed, size = struct.unpack(">BI", self.data[at:at + 5])
            assert compressed == 0
            if at + 5 + size > len(self.data):
                break
            found.append(self.data[at + 5:at + 5 + size])
            at += 5 + size
        return found


class Client:
    def __init__(self, door, reads=True, **settings):
        """`reads=False`: windows are not given back by themselves. `settings`: of h2.settings.SettingCodes."""
        self.sock = socket.create_connection(("127.0.0.1", door.port), 30)
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
        self.reads = reads
        self.calls = {}
        self.gone = None  # the code of GOAWAY
        self.closed = False
        self.settings_seen = {}
        self.h2.local_settings.update({h2.settings.SettingCodes[name]: value for name, value in settings.items()})
        self.h2.initiate_connection()
        self.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def flush(self):
        self.sock.sendall(self.h2.data_to_send())

    def begin(self, method, message=None, headers=(), end=True):
        """Sends a request and returns its call; a message goes out as the windows allow."""
        stream = self.h2.get_next_available_stream_id()
        call = self.calls[stream] = Call()
        call.stream = stream
        path = method if method.startswith("/") else METHODS + method
        self.h2.send_headers(stream, [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "test"),
                                      ("content-type", "application/grpc"), ("te", "trailers"), *headers])
        self.flush()
        if message is not None:
            self.send(call, struct.pack(">BI", 0, len(message)) + message, end)
        return call

    def send(self, call, data, end=False):
        sent = 0
        while sent < len(data) and not call.over:  # who is answered early need not go on
            size = min(self.h2.local_flow_control_window(call.stream), self.h2.max_outbound_frame_size, len(data) - sent)
            if size == 0:
                self.step()
                continue
            self.h2.send_data(call.stream, data[sent:sent + size])
            sent += size
            self.flush()
        if end and not call.over:
            self.h2.end_stream(call.stream)
            self.flush()

    def step(self):
        """Reads once."""
        data = self.sock.recv(65536)
        if not data:
            self.closed = True
            raise ConnectionError(f"the connection is at its end, GOAWAY {self.gone}")
        for event in self.h2.receive_data(data):
            self.take(event)
        self.flush()

    def take(self, event):
        call = self.calls.get(getattr(event, "stream_id", None))
        if isinstance(event, h2.events.ResponseReceived):
            call.headers = dict(event.headers)
        elif isinstance(event, h2.events.TrailersReceived):
            call.trailers = dict(event.headers)
        elif isinstance(event, h2.events.DataReceived):
            call.data += event.data
            if self.reads and event.flow_controlled_length:
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            call.over = True
        elif isinstance(event, h2.events.StreamReset):
            call.reset = event.error_code
            call.over = True
        elif isinstance(event, h2.events.RemoteSettingsChanged):
            self.settings_seen.update({code: change.new_value for code, change in event.changed_settings.items()})
        elif isinstance(event, h2.events.ConnectionTerminated):
            self.gone = event.error_code

    def until(self, condition, seconds=60):
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "what was waited for did not come"
            self.step()

    def finish(self, call):
        self.until(lambda: call.over)
        return call

    def unary(self, method, message=b"", **options):
        return self.finish(self.begin(method, message, **options))

    def start(self, *command, pty=None, **options):
        """A Start whose process has its number: (call, number)."""
        call = self.begin("Start", config(*command, **options) + (field(2, pty) if pty is not None else b""))
        self.until(lambda: call.messages() or call.over)
        assert call.messages(), (call.status, call.message)
        (number, init), = fields(call.messages()[0])
        assert number == 1
        return call, dict(fields(init))[1]

    def cancel(self, call):
        self.h2.reset_stream(call.stream, 8)
        self.flush()


def output(call, number=2):
    """The output that a Start has sent of stdout (2) or stderr (3)."""
    return b"".join(value for message in call.messages() for key, value in fields(message) if key == number)


def exit_code(call):
    """The exit code of a Start that has ended."""
    (number, event), = fields(call.messages()[-1])
    assert number == 4, call.messages()[-1]
    code = dict(fields(event)).get(1, 0)
    return code - (1 << 64) if code >> 63 else code


def executed(call):
    """(exit code, stdout, stderr) of an Execute."""
    assert call.status == 0, (call.status, call.message)
    found = dict(fields(call.messages()[0]))
    code = found.get(1, 0)
    return (code - (1 << 64) if code >> 63 else code), found.get(2, b""), found.get(3, b"")
