"""Attempts of a program that knows no proxy, in a box: `python3 unaware.py JSON`, a list of attempts. Prints what each has got.

{"look": NAME}: the addresses of a name, or the error of the resolver.
{"to": "HOST:PORT", "sni": NAME, "say": TEXT}: TLS that asks for NAME (HOST without "sni"), and the answer to TEXT.
{"to": "HOST:PORT", "bytes": TEXT}: these bytes, and all that comes back.
{"at": "ADDRESS:PORT", ...}: the same at an address; with "own" the connection comes from this machine's own address.
{"dns": HEX, "tcp": true}: the answer to a message to the name server, or null; "count" sends it as often before."""

import json
import socket
import ssl
import sys

SERVER = ("127.0.0.1", 53)


def look(name):
    try:
        return sorted({one[4][0] for one in socket.getaddrinfo(name, 443)})
    except OSError as error:
        return {socket.EAI_NONAME: "unknown", socket.EAI_NODATA: "unknown", socket.EAI_AGAIN: "again"}.get(error.errno, str(error))


def read_all(one):
    got = b""
    try:
        while block := one.recv(65536):
            got += block
    except OSError:
        pass
    return got


def connect(wanted):
    host, _, port = (wanted.get("at") or wanted["to"]).rpartition(":")
    source = (socket.gethostbyname(socket.gethostname()), 0) if wanted.get("own") else None
    with socket.create_connection((host, int(port)), 20, source) as one:
        if "bytes" in wanted:
            one.sendall(wanted["bytes"].encode("latin-1"))
            one.shutdown(socket.SHUT_WR)
            return read_all(one).decode("latin-1")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with context.wrap_socket(one, server_hostname=wanted.get("sni", host)) as secure:
            secure.sendall(wanted.get("say", "hello").encode())
            return secure.recv(65536).decode()


def ask(wanted):
    message = bytes.fromhex(wanted["dns"])
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM if wanted.get("tcp") else socket.SOCK_DGRAM) as one:
        one.settimeout(wanted.get("patience", 20))
        one.connect(SERVER)
        for _ in range(wanted.get("count", 1)):
            one.sendall((len(message).to_bytes(2, "big") if wanted.get("tcp") else b"") + message)
        try:
            got = one.recv(65536)
        except OSError:
            return None
        return got[2:].hex() if wanted.get("tcp") else got.hex()


def attempt(wanted):
    try:
        return look(wanted["look"]) if "look" in wanted else ask(wanted) if "dns" in wanted else connect(wanted)
    except OSError as error:
        return f"failed: {error}"


if __name__ == "__main__":
    print(json.dumps([attempt(one) for one in json.loads(sys.argv[1])]))
