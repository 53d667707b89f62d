"""A proxy in front of several servers that are to be one: each request goes to the next of them."""

import itertools
import re
import socket
import threading

LONGEST_HEAD = 65536
CONNECTION = re.compile(rb"\r\nconnection:[^\r]*", re.IGNORECASE)


class Alternating:
    """`targets` are (host, port). Each connection carries one request: the server is told that it is the last one."""

    def __init__(self, targets):
        self.next_target, self.lock = itertools.cycle(targets), threading.Lock()
        self.server = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self.server.getsockname()[1]}"
        self.open = set()
        self.threads = [threading.Thread(target=self._accept)]
        self.threads[0].start()

    def _accept(self):
        while True:
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            with self.lock:
                target = next(self.next_target)
                self.threads.append(threading.Thread(target=self._serve, args=(client, target)))
            self.threads[-1].start()

    def _serve(self, client, target):
        with client, socket.create_connection(target) as server:
            with self.lock:
                self.open |= {client, server}
            head = b""
            while b"\r\n\r\n" not in head:
                piece = client.recv(LONGEST_HEAD)
                if not piece or len(head) > LONGEST_HEAD:
                    return
                head += piece
            fields, end, body = head.partition(b"\r\n\r\n")
            server.sendall(CONNECTION.sub(b"", fields) + b"\r\nConnection: close" + end + body)
            upwards = threading.Thread(target=_pass_up, args=(client, server))
            upwards.start()
            _pass_on(server, client)
            _shut(client)
            upwards.join()
            with self.lock:
                self.open -= {client, server}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        _shut(self.server)
        self.server.close()
        with self.lock:
            for one in self.open:
                _shut(one)
        for thread in self.threads:
            thread.join()


def _shut(one):
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


def _pass_up(client, server):
    """A client ends its connection when it wants no more."""
    _pass_on(client, server)
    _shut(server)


def _pass_on(source, target):
    try:
        while piece := source.recv(65536):
            target.sendall(piece)
    except OSError:
        pass
