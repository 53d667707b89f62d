"""Connections through the egress proxy of a box: `python3 by_name.py JSON`, a list of attempts. Prints what each has got.

{"to": "HOST:PORT", "sni": NAME, "say": TEXT}: a tunnel, TLS in it that asks for NAME (HOST without "sni"), and the answer to TEXT.
{"to": "HOST:PORT", "bytes": HEX, "each": N}: the bytes in a tunnel, N at a time, and all that comes back.
{"head": TEXT}: a request as it is, and all that comes back.
{"socks": "HOST:PORT"}: as "to", by SOCKS5; a refusal has the reply's byte as its status.
{"raw": TEXT, "end": false}: these bytes, without waiting for an answer and without an end, and all that comes back."""

import json
import socket
import ssl
import sys
import time

PROXY = ("127.0.0.1", 3128)


def read_all(one):
    got = b""
    try:
        while block := one.recv(65536):
            got += block
    except OSError:
        got += b"(reset)"
    return got


def request(head):
    """The connection after the answer's head: (socket, status, code, rest)."""
    one = socket.create_connection(PROXY, 20)
    one.sendall(head.encode("latin-1"))
    got = b""
    while b"\r\n\r\n" not in got and (block := one.recv(1)):
        got += block
    lines = got.decode("latin-1").split("\r\n")
    status = int(lines[0].split()[1]) if lines[0] else 0
    code = next((line.split(": ")[1] for line in lines if line.startswith("X-Skiff-Egress: ")), "")
    return one, status, code


def by_socks(to):
    host, _, port = to.rpartition(":")
    one = socket.create_connection(PROXY, 20)
    one.sendall(b"\5\1\0")
    assert one.recv(2) == b"\5\0"
    one.sendall(b"\5\1\0\3" + bytes([len(host)]) + host.encode() + int(port).to_bytes(2, "big"))
    answer = one.recv(10)
    return one, 200 if answer == b"\5\0\0\1" + bytes(6) else answer[1], ""


def answer_to(text, end=True):
    with socket.create_connection(PROXY, 20) as one:
        one.sendall(text.encode("latin-1"))
        if end:
            one.shutdown(socket.SHUT_WR)
        return {"back": read_all(one).decode("latin-1")}


def attempt(wanted):
    if "raw" in wanted:
        return answer_to(wanted["raw"], wanted.get("end", True))
    if "socks" in wanted:
        wanted = {"to": wanted["socks"], **wanted}
    one, status, code = by_socks(wanted["to"]) if "socks" in wanted else request(wanted.get("head") or f"CONNECT {wanted['to']} HTTP/1.1\r\nHost: {wanted['to']}\r\n\r\n")
    with one:
        if status != 200:
            return {"status": status, "code": code, "said": read_all(one).decode("latin-1")}
        if "bytes" in wanted:
            raw, size = bytes.fromhex(wanted["bytes"]), wanted.get("each", 65536)
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                for at in range(0, len(raw), size):
                    one.sendall(raw[at:at + size])
                if wanted.get("end", True):
                    one.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            return {"status": status, "back": read_all(one).hex()}
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            name = wanted.get("sni", wanted["to"].rsplit(":", 1)[0])
            with context.wrap_socket(one, server_hostname=name or None) as secure:
                say = wanted.get("say", "hello")
                secure.sendall(say.encode())
                if say.startswith("upload"):
                    size = int(say.split()[1])
                    for at in range(0, size, 65536):
                        secure.sendall(b"x" * min(65536, size - at))
                said = secure.recv(65536).decode()
                if wanted.get("stay"):
                    print(said, flush=True)
                    said = read_all(secure).decode("latin-1")
                return {"status": status, "said": said}
        except OSError as error:
            return {"status": status, "failed": str(error)}


def hold(count):
    """Opens so many connections, and counts those that are answered at once with a refusal."""
    all_of_them = [socket.create_connection(PROXY, 20) for _ in range(count)]
    refused, until = 0, time.monotonic() + 20
    for one in all_of_them[256:]:
        one.settimeout(max(0.1, until - time.monotonic()))
        refused += b"too_many_connections" in read_all(one)
    return refused


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    print(json.dumps(hold(asked["hold"]) if isinstance(asked, dict) else [attempt(one) for one in asked]))
