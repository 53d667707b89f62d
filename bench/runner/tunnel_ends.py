"""What is on both sides of an egress proxy, in a network namespace of its own: `python3 tunnel_ends.py client|origin|api|secure FOLDER`,
or `with_socket PORT WORD...` to become a program whose stdin is a socket on PORT of PROXY.

`origin` serves ORIGIN: a connection begins with a ClientHello and a word, and the rest is the pattern. `secure` serves the pattern by HTTPS
on SECURE. `client` takes JSON lines that say what to do, and answers with one each. `api` plays an API server that has Pods."""

import ctypes
import http.server
import json
import os
import random
import select
import socket
import ssl
import sys
import threading
import time

ORIGIN, PROXY, HOST = ("11.7.7.7", 443), "11.7.7.9", "origin.example.com"
SECURE, SECURE_HOST = ("11.7.7.8", 443), "secure.example.com"
BLOCK = 1024 * 1024
PATTERN = ctypes.create_string_buffer(2 * random.Random(7).randbytes(BLOCK), 2 * BLOCK)
WORD = 24
PATIENCE = 60
A_POD = 250  # tunnels: below the limit of each
PODS = [f"11.8.0.{number + 1}" for number in range(20)]
MEMCMP = ctypes.CDLL(None).memcmp
MEMCMP.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


def make_hello():
    outgoing = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=HOST)
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        return outgoing.read()


def read_exactly(one, size):
    got = b""
    while len(got) < size:
        block = one.recv(size - len(got))
        if not block:
            raise EOFError(f"the connection ended after {got[:300]!r}")
        got += block
    return got


def send_pattern(one, size):
    view, sent = memoryview(PATTERN), 0
    while sent < size:
        at = sent % BLOCK
        sent += one.send(view[at:at + min(size - sent, BLOCK)])
    one.shutdown(socket.SHUT_WR)


def read_pattern(one, size):
    into = ctypes.create_string_buffer(BLOCK)
    view, count = memoryview(into), 0
    while got := one.recv_into(view):
        if MEMCMP(into, ctypes.byref(PATTERN, count % BLOCK), got) != 0:
            raise ValueError(f"other bytes after {count}")
        count += got
    if count != size:
        raise ValueError(f"{count} bytes have come, not {size}")


def serve_one(one, kept):
    """Serves a connection; `wait` and `bye` answer a byte, and the first leaves it to `kept`, which closes it when the client does."""
    head = read_exactly(one, 5)
    read_exactly(one, int.from_bytes(head[3:], "big"))
    what, size = read_exactly(one, WORD).decode().split()
    if what == "down":
        send_pattern(one, int(size))
        return one.close()
    if what == "up":
        read_pattern(one, int(size))
    one.sendall(b"k")
    if what == "wait":
        kept[one.fileno()] = one
        return kept["ends"].register(one.fileno(), select.EPOLLIN)
    one.close()


def origin():
    kept = {"ends": select.epoll()}

    def forget():
        while True:
            for number, _ in kept["ends"].poll():
                kept["ends"].unregister(number)
                kept.pop(number).close()

    threading.Thread(target=forget, daemon=True).start()
    listener = socket.create_server(ORIGIN, backlog=1024)
    print("ready", flush=True)
    while True:
        threading.Thread(target=serve_one, args=(listener.accept()[0], kept), daemon=True).start()


def read_head(one):
    head = b""
    while b"\r\n\r\n" not in head:
        block = one.recv(16384)
        if not block:
            raise EOFError("the connection ended within a head")
        head += block
    return head


def answer_secure(context, one):
    """Requests for /SIZE, on one connection."""
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        with context.wrap_socket(one, server_side=True) as secure:
            while True:
                head = read_head(secure)
                size = int(head.split(b" ", 2)[1][1:])
                secure.sendall(f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {size}\r\n\r\n".encode())
                for at in range(0, size, BLOCK):
                    secure.sendall(memoryview(PATTERN)[:min(BLOCK, size - at)])
    except (OSError, EOFError):
        pass


def secure_origin(folder):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/secure.pem", f"{folder}/secure.key")
    listener = socket.create_server(SECURE, backlog=1024)
    print("ready", flush=True)
    while True:
        threading.Thread(target=answer_secure, args=(context, listener.accept()[0]), daemon=True).start()


class Api(http.server.BaseHTTPRequestHandler):
    """A list of Pods, and a watch of them that has no news."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):  # noqa: N802
        if "watch=true" in self.path:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.flush()
            threading.Event().wait()
        pods = [{"apiVersion": "v1", "kind": "Pod", "spec": {},
                 "metadata": {"name": f"pod-{address}", "namespace": "bench", "uid": f"uid-{address}", "resourceVersion": "1",
                              "labels": {"skiff.dev/network": "egress", "skiff.dev/sandbox": address},
                              "annotations": {"skiff.dev/egress": json.dumps([HOST])}},
                 "status": {"phase": "Running", "podIP": address, "conditions": [{"type": "Ready", "status": "True"}]}}
                for address in PODS]
        body = json.dumps({"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": pods}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def api():
    server = http.server.ThreadingHTTPServer((PROXY, 6443), Api)
    print("ready", flush=True)
    server.serve_forever()


class Client:
    def __init__(self):
        self.hello, self.held = make_hello(), []

    def connect(self, way, number, word):
        """A connection by a way, from the Pod for tunnel `number`, that has said its hello and a word. A way is {"port": of PROXY, "connects":
        with CONNECT or not, "tokens": for Pods}."""
        tokens = way.get("tokens")
        pod = PODS[number // A_POD % len(PODS)]
        one = socket.create_connection((PROXY, way["port"]), PATIENCE, source_address=(pod, 0))
        if way["connects"]:
            preamble = f"SKIFF-EGRESS/1 {tokens[pod]}\r\n" if tokens else ""
            one.sendall(f"{preamble}CONNECT {HOST}:443 HTTP/1.1\r\n\r\n".encode())
            answer = b"HTTP/1.1 200 Connection established\r\n\r\n"
            if (got := read_exactly(one, len(answer))) != answer:
                raise ValueError(f"answered {got!r}")
        one.sendall(self.hello + word.ljust(WORD).encode())
        return one

    def secure(self, way):
        """A connection with TLS by a way that has "ca", a file."""
        one = socket.create_connection((PROXY, way["port"]), PATIENCE)
        if way["connects"]:
            one.sendall(f"CONNECT {SECURE_HOST}:443 HTTP/1.1\r\n\r\n".encode())
            answer = b"HTTP/1.1 200 Connection established\r\n\r\n"
            if (got := read_exactly(one, len(answer))) != answer:
                raise ValueError(f"answered {got!r}")
        return ssl.create_default_context(cafile=way["ca"]).wrap_socket(one, server_hostname=SECURE_HOST)

    def fetch(self, one, size):
        one.sendall(f"GET /{size} HTTP/1.1\r\nHost: {SECURE_HOST}\r\n\r\n".encode())
        head, _, begun = read_head(one).partition(b"\r\n\r\n")
        if b" 200 " not in head.split(b"\r\n")[0]:
            raise ValueError(f"answered {head[:300]!r}")
        into = ctypes.create_string_buffer(BLOCK)
        into[:len(begun)] = begun
        view, count, got = memoryview(into), 0, len(begun)
        while True:
            if MEMCMP(into, ctypes.byref(PATTERN, count % BLOCK), got) != 0:
                raise ValueError(f"other bytes after {count}")
            count += got
            if count == size:
                return
            got = one.recv_into(view)
            if got == 0:
                raise EOFError(f"the connection ended after {count} bytes")

    def secure_down(self, way, size):
        with self.secure(way) as one:
            self.fetch(one, size)

    def secure_requests(self, way, count):
        """So many on one connection."""
        with self.secure(way) as one:
            for _ in range(count):
                self.fetch(one, 16)

    def down(self, way, size):
        with self.connect(way, 0, f"down {size}") as one:
            read_pattern(one, size)

    def up(self, way, size):
        with self.connect(way, 0, f"up {size}") as one:
            send_pattern(one, size)
            read_exactly(one, 1)

    def hold(self, way, count):
        """Holds so many idle tunnels."""
        while len(self.held) < count:
            self.held.append(self.connect(way, len(self.held), "wait 0"))
            read_exactly(self.held[-1], 1)

    def drop(self, way, _):
        for one in self.held:
            one.close()
        self.held.clear()

    def short(self, way, count):
        """So many connections, one after the other."""
        for _ in range(count):
            with self.connect(way, 0, "bye 0") as one:
                read_exactly(one, 1)


def with_socket(port, *words):
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind((PROXY, int(port)))
    os.dup2(one.fileno(), 0)
    os.execv(words[0], words)


def client():
    self = Client()
    print("ready", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        began = time.monotonic()
        try:
            getattr(self, asked["do"])(asked["way"], asked["count"])
            print(json.dumps({"seconds": time.monotonic() - began}), flush=True)
        except (OSError, EOFError, ValueError) as error:
            print(json.dumps({"error": f"{asked['do']}: {error}"}), flush=True)


if __name__ == "__main__":
    {"client": client, "origin": origin, "api": api, "secure": secure_origin, "with_socket": with_socket}[sys.argv[1]](*sys.argv[2:])
