"""Connections to the egress proxy of a box that are held open and never read: `python3 held_open.py JSON`, a list of kinds. It prints a
line for each of them, what became of its connections, and holds these until its stdin ends.

{"tunnels": COUNT, "to": "HOST:PORT"}: tunnels with a ClientHello. Prints how many have a first byte of an answer.
{"hellos": COUNT, "to": "HOST:PORT"}: tunnels with the first bytes of a ClientHello.
{"requests": COUNT, "to": "HOST:PORT", "path": PATH}: the same with a request in the proxy's TLS.
{"halves": COUNT, "text": TEXT}: connections that say this and no more. Prints how many are refused."""

import contextlib
import json
import os
import socket
import ssl
import sys

HELD = []
#: Bytes that a receiver takes before it is slow, whatever the kernel thinks.
ROOM = 4096


def tunnel(to):
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM)
    one.settimeout(30)
    one.connect(("127.0.0.1", 3128))
    one.sendall(f"CONNECT {to} HTTP/1.1\r\n\r\n".encode())
    assert one.recv(len("HTTP/1.1 200 Connection established\r\n\r\n")).split()[1] == b"200"
    HELD.append(one)
    return one


def tunnels(count, to):
    context = ssl.create_default_context()
    for _ in range(count):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        try:
            context.wrap_bio(incoming, outgoing, server_hostname=to.partition(":")[0]).do_handshake()
        except ssl.SSLWantReadError:
            tunnel(to).sendall(outgoing.read())
    return sum(one.recv(1, socket.MSG_PEEK) != b"" for one in HELD[-count:])


def hellos(count, to):
    for _ in range(count):
        tunnel(to).sendall(b"\x16\x03\x01")
    return count


def requests(count, to, path):
    context = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
    for _ in range(count):
        secure = context.wrap_socket(tunnel(to), server_hostname=to.partition(":")[0])
        secure.sendall(f"GET {path} HTTP/1.1\r\nHost: {to}\r\n\r\n".encode())
        HELD[-1] = secure
    return sum(one.recv(1) != b"" for one in HELD[-count:])


def is_refused(one):
    try:
        return b"too_many_connections" in one.recv(4096)
    except ConnectionResetError:
        # It was closed before all of its bytes were read.
        return True


def halves(count, text):
    for _ in range(count):
        HELD.append(socket.create_connection(("127.0.0.1", 3128), 30))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            HELD[-1].sendall(text.encode("latin-1"))
    # The last ones are refused at once, and the others wait.
    return sum(map(is_refused, HELD[256:]))


for wanted in json.loads(sys.argv[1]):
    kind = next(iter(wanted))
    print(json.dumps(globals()[kind](wanted.pop(kind), **wanted)), flush=True)
sys.stdin.read()
