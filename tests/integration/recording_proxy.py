"""A TCP proxy that keeps the heads of the requests that pass it."""

import io
import socket

from cutting_proxy import CuttingProxy
from upstream import Connection


class Sent:
    """The bytes that one side of a connection has sent, as a socket that is read."""

    def __init__(self, data):
        self.data = data

    def makefile(self, _):
        return io.BytesIO(self.data)


class RecordingProxy(CuttingProxy):
    def __init__(self, target):
        self.sent = []
        super().__init__(target, [])

    def _forward(self, client, upstream, _allowance):
        pieces = []
        self.sent.append(pieces)
        try:
            while piece := client.recv(65536):
                pieces.append(piece)
                upstream.sendall(piece)
            upstream.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def heads(self):
        """(request line, [(name, value)]) of each that was answered."""
        for pieces in self.sent:
            connection = Connection(Sent(b"".join(pieces)))
            while head := connection.head():
                yield head
                if "upgrade" in (name.lower() for name, _ in head[1]):
                    break
                connection.body(head[1])
