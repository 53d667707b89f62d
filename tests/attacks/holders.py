"""One holder who takes as much of a limit as it gets, and what the next one is given then."""

import contextlib
import socket

from confined import with_descriptors
from wire import Stream, request_bytes

WEBSOCKET = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
             "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
MOST = 10_000  # of a loop that a limit has to end


def ask(held, connect, head):
    """Opens a connection that stays, and sends this: the response as it begins, and its connection."""
    sock = held.enter_context(connect())
    sock.sendall(head)
    stream = held.enter_context(contextlib.closing(Stream(sock).file))
    return stream


def status_of(connect, head, held=None):
    """The status of the answer to a request on its own connection, which stays open while `held` is."""
    with contextlib.ExitStack() as own:
        sock = (held or own).enter_context(connect())
        sock.sendall(head)
        line = sock.recv(4096)
        return int(line.split()[1]) if line else None


def dial(host):
    address, _, port = host.rpartition(":")
    return lambda: socket.create_connection((address, int(port)), 30)


def few_descriptors(serving, most):
    """Servers that start from now on, and their children, may open only `most` descriptors."""
    serving.skiff.command = [*with_descriptors(most), *serving.skiff.command]


def frame(opcode, payload, length=None, fin=True):
    """A WebSocket frame of a client; `length` may promise more than is there."""
    size = len(payload) if length is None else length
    head = bytes([(0x80 if fin else 0) | opcode])
    if size < 126:
        head += bytes([0x80 | size])
    elif size < 65536:
        head += bytes([0x80 | 126]) + size.to_bytes(2, "big")
    else:
        head += bytes([0x80 | 127]) + size.to_bytes(8, "big")
    return head + bytes(4) + payload


def get(path, fields, method="GET"):
    return request_bytes(method, path, fields)
