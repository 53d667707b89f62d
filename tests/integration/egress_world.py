"""An internet with names, for boxes with egress by name: the laptop of laptop.py, with a name server that knows `NAMES`, and servers
of TLS that say which name they were asked for.

Run as a program: `egress_world.py names TABLE LOG [ADDRESS]` is the name server, `egress_world.py origin CERTIFICATE LOG` the servers."""

import contextlib
import json
import pathlib
import select
import socket
import ssl
import struct
import subprocess
import sys
import threading

import hostile_names
import laptop

SERVER = "127.0.0.54"
FAR, PRIVATE = laptop.FAR, "10.1.2.3"
PORTS = (443, 8443)
HTTP = 80
#: The names that the server knows; all below wild.example.com has the address FAR, and for those below hostile.example.com
#: it answers as hostile_names.py says.
NAMES = {"pypi.org": [FAR], "files.example.com": [FAR], "example.com": [FAR], "inner.example.com": [PRIVATE], "evil.org": [FAR],
         "git.example.com": [FAR],
         "both.example.com": [FAR, PRIVATE], "metadata.example.com": ["169.254.169.254"], "own.example.com": [laptop.OWN],
         "mapped.example.com": ["::ffff:10.1.2.3"], "nat.example.com": ["64:ff9b::a01:203"], "local.example.com": ["127.0.0.1"],
         "six.example.com": [FAR, "fd00::7"], "deaf.example.com": ["11.0.0.1"], "pypi.org.corp.example.com": [PRIVATE]}


class World:
    def __init__(self, folder, one):
        self.folder, self.laptop = folder, one
        self.queries, self.seen_log = folder / "queries.log", folder / "origin.log"
        self.table = folder / "names.json"
        self.table.write_text(json.dumps(NAMES))
        for log in (self.queries, self.seen_log):
            log.touch()
        (folder / "resolv.conf").write_text(f"nameserver {SERVER}\nsearch corp.example.com\noptions timeout:1 attempts:1\n")
        certificate = make_certificate(folder)
        self.servers = [self._start(one.laptop, "names", self.table, self.queries),
                        self._start(one.internet, "origin", certificate, self.seen_log)]

    def _start(self, words, *arguments):
        server = subprocess.Popen([*words, sys.executable, __file__, *map(str, arguments)], stdout=subprocess.PIPE)
        assert server.stdout.readline() == b"ready\n"
        return server

    def asked(self):
        """The names that the name server was asked for."""
        return self.queries.read_text().split()

    def seen(self):
        """The log of the servers: a line for each connection that has said something, with its first bytes."""
        return self.seen_log.read_text().splitlines()

    def close(self):
        for one in self.servers:
            one.kill()
            one.communicate()


def make_certificate(folder):
    """A certificate of the servers that nobody knows, with its key beside it."""
    certificate = folder / "origin.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=origin",
                    "-keyout", certificate.with_suffix(".key"), "-out", certificate, "-days", "1"], check=True, capture_output=True)
    return certificate


@contextlib.contextmanager
def world(folder):
    with laptop.laptop(folder, tun=False) as one:
        made = World(folder, one)
        try:
            yield made
        finally:
            made.close()


def name_in(query):
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode("latin-1"))
        at += 1 + query[at]
    return ".".join(labels).lower(), struct.unpack(">H", query[at + 1:at + 3])[0], query[12:at + 5]


def serve_names(table, log, address=SERVER):
    known = json.loads(pathlib.Path(table).read_text())
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((address, 53))
    print("ready", flush=True)
    while True:
        query, peer = server.recvfrom(4096)
        name, kind, question = name_in(query)
        with open(log, "a") as file:
            file.write(name + "\n")
        if name.endswith(".hostile.example.com"):
            server.sendto(hostile_names.answer(name.split(".")[0], kind, query, question), peer)
            continue
        addresses = [laptop.FAR] if name.endswith(".wild.example.com") else known.get(name)
        family = {1: socket.AF_INET, 28: socket.AF_INET6}.get(kind)
        records = [socket.inet_pton(family, one) for one in addresses or [] if family and (":" in one) == (kind == 28)]
        head = query[:2] + (b"\x81\x80" if addresses is not None else b"\x81\x83") + b"\0\1" + struct.pack(">H", len(records)) + b"\0\0\0\0"
        answers = b"".join(b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 60, len(one)) + one for one in records)
        server.sendto(head + question + answers, peer)


def answer_plainly(connection):
    """An answer with the request as it came; none to one for /slow."""
    got = b""
    while (not got.endswith((b"\r\n\r\n", b"!")) or b" /slow " in got) and (block := connection.recv(65536)):
        got += block
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(got) + got)


def serve_tls(certificate, log):
    lock = threading.Lock()

    def answer(connection, port):
        with connection, contextlib.suppress(OSError):
            first = connection.recv(8, socket.MSG_PEEK)
            if not first:
                return
            with lock, open(log, "a") as file:
                file.write(f"{port} {first.hex()}\n")
            if port == HTTP:
                return answer_plainly(connection)
            asked = []
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, pathlib.Path(certificate).with_suffix(".key"))
            context.sni_callback = lambda _, name, __: asked.append(name)
            with context.wrap_socket(connection, server_side=True) as secure:
                while block := secure.recv(65536):
                    if block.startswith(b"upload"):
                        size = int(block.split()[1])
                        while size > 0 and (more := secure.recv(65536)):
                            size -= len(more)
                        secure.sendall(b"got all")
                    elif block.startswith(b"GET "):
                        text = f"{asked[0]} {port}\n".encode()
                        secure.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text) + text)
                    else:
                        secure.sendall(f"{asked[0]} {port} ".encode() + block)

    listeners = {socket.create_server((address, port)): port for address in (FAR, PRIVATE) for port in (HTTP, *PORTS)}
    print("ready", flush=True)
    while True:
        for one in select.select(list(listeners), [], [])[0]:
            connection, _ = one.accept()
            threading.Thread(target=answer, args=(connection, listeners[one]), daemon=True).start()


if __name__ == "__main__":
    {"names": serve_names, "origin": serve_tls}[sys.argv[1]](*sys.argv[2:])
