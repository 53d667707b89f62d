"""WebSocket clients: one over the `websockets` library, made synchronous, and one that sends any frame at all."""

import asyncio
import base64
import json
import os
import struct
import threading
import urllib.parse

import websockets
import websockets.legacy.client  # the newer one has other names for all of this

from wire import Stream, request_bytes

_loop = None
_lock = threading.Lock()


def _run(coroutine, seconds):
    """Runs a coroutine on the one loop thread of this process, with a deadline."""
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, daemon=True).start()
    return asyncio.run_coroutine_threadsafe(asyncio.wait_for(coroutine, seconds), _loop).result()


class Ws:
    """A WebSocket. JSON objects are text frames and dicts here; binary frames are bytes. Use it in a `with`."""

    def __init__(self, url, subprotocols, headers, sock=None, ssl=None):
        async def connect():
            return await websockets.legacy.client.connect(
                url, subprotocols=subprotocols or None, extra_headers=headers, compression=None, max_size=None,
                max_queue=4, ping_interval=None, open_timeout=15, close_timeout=5, sock=sock,
                **({"ssl": ssl, "server_hostname": urllib.parse.urlsplit(url).hostname} if ssl else {}))

        self.socket = _run(connect(), 20)
        self.subprotocol = self.socket.subprotocol
        self.response_headers = self.socket.response_headers

    def send(self, frame, seconds=20):
        _run(self.socket.send(json.dumps(frame) if isinstance(frame, dict) else frame), seconds)

    def recv(self, seconds=20):
        frame = _run(self.socket.recv(), seconds)
        return json.loads(frame) if isinstance(frame, str) else frame

    def frames(self, seconds=60):
        """Every frame until the server closes."""
        while True:
            try:
                yield self.recv(seconds)
            except websockets.ConnectionClosed:
                return

    def until(self, kind, **fields):
        """Reads up to the first event of type `kind` with those fields; returns the list, that event last."""
        seen = []
        while True:
            frame = self.recv()
            seen.append(frame)
            if isinstance(frame, dict) and frame["type"] == kind and all(frame.get(k) == v for k, v in fields.items()):
                return seen

    def code(self):
        """Reads what is left and returns the close code."""
        for _ in self.frames():
            pass
        return self.socket.close_code

    def ping(self, seconds=10):
        async def ping():
            await (await self.socket.ping())

        _run(ping(), seconds)

    def close(self):
        _run(self.socket.close(), 20)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def binary_header(frame):
    """The fields of a `skiff.v1.binary` frame and its bytes."""
    names = ("version", "kind", "stream", "flags", "channel", "offset", "time")
    return dict(zip(names, struct.unpack(">BBBBIQQ", frame[:24]))), frame[24:]


def binary_stdin(data, channel=0, offset=2**64 - 1):
    return struct.pack(">BBBBIQQ", 1, 2, 0, 0, channel, offset, 0) + data


def client_frame(opcode, payload=b"", masked=True, final=True, reserved=0):
    size = len(payload)
    head = bytes([(0x80 if final else 0) | reserved << 4 | opcode])
    flag = 0x80 if masked else 0
    if size < 126:
        head += bytes([flag | size])
    elif size < 65536:
        head += bytes([flag | 126]) + struct.pack(">H", size)
    else:
        head += bytes([flag | 127]) + struct.pack(">Q", size)
    if masked:
        head += b"\0\0\0\0"  # a mask of zeros leaves the payload as it is
    return head + payload


class RawWs:
    """A WebSocket on a bare socket, for frames that are wrong on purpose."""

    def __init__(self, sock, path, headers):
        self.sock = sock
        key = base64.b64encode(os.urandom(16)).decode()
        sock.sendall(request_bytes("GET", path, {
            **headers, "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": key}))
        self.stream = Stream(sock)
        assert self.stream.status == 101, self.stream.answer()
        self.file = self.stream.file

    def send(self, opcode, payload=b"", masked=True, final=True, reserved=0):
        try:
            self.sock.sendall(client_frame(opcode, payload, masked, final, reserved))
        except (BrokenPipeError, ConnectionResetError):
            pass  # the server may close before it has read all of a frame that it refuses

    def recv(self):
        """(opcode, payload) of the next frame, or None at the end."""
        try:
            head = self.file.read(2)
            if len(head) < 2:
                return None
            size = head[1] & 0x7F
            if size == 126:
                size = struct.unpack(">H", self.file.read(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self.file.read(8))[0]
            return head[0] & 0x0F, self.file.read(size)
        except ConnectionResetError:
            return None

    def close_code(self):
        """Reads on to the close frame; its code, or None when the connection ended without one."""
        while (frame := self.recv()) is not None:
            if frame[0] == 8:
                return struct.unpack(">H", frame[1][:2])[0] if frame[1] else 1005
        return None

    def close(self):
        self.stream.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
