"""Requests in the TLS of a tunnel: `python3 in_tls.py HOST:PORT JSON`, a list of texts, or of lists of texts that go one after the
other. Prints all that comes back on each connection, or why there is no TLS. The proxy's certificate is verified."""

import json
import os
import socket
import ssl
import sys


def read_all(one):
    got = b""
    try:
        while block := one.recv(65536):
            got += block
    except OSError:
        pass
    return got.decode("latin-1")


def say(to, text, protocols=(), newest=None):
    host, _, port = to.rpartition(":")
    with socket.create_connection(("127.0.0.1", 3128), 20) as one:
        one.sendall(f"CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n") and (byte := one.recv(1)):
            head += byte
        if b" 200 " not in head.split(b"\r\n")[0]:
            return head.decode("latin-1") + read_all(one)
        context = ssl.create_default_context(cafile=os.environ.get("SSL_CERT_FILE"))
        if protocols:
            context.set_alpn_protocols(protocols)
        if newest:
            context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
            context.maximum_version = newest
            context.set_ciphers("ALL:@SECLEVEL=0")
        try:
            with context.wrap_socket(one, server_hostname=host) as secure:
                if protocols:
                    return str(secure.selected_alpn_protocol())
                secure.sendall(text.encode("latin-1"))
                return read_all(secure)
        except OSError as error:
            return f"no TLS: {error}"


if __name__ == "__main__":
    to, wanted = sys.argv[1], json.loads(sys.argv[2])
    if wanted == "protocols":
        found = [say(to, "", ["h2", "http/1.1"]), say(to, "", ["h2"]), say(to, "", newest=ssl.TLSVersion.TLSv1_1)]
    else:
        found = [say(to, one) for one in wanted]
    print(json.dumps(found))
