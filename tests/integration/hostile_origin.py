"""Servers that attack the egress proxy of a box, which has a token for them: `hostile_origin.py FOLDER ADDRESS`.

FOLDER is that of secret_origin.py, whose certificate they show. On the port ANSWERS the answer to /NAME is what FOLDER/answers/NAME
says: a JSON list of texts, each in a record of TLS of its own, of which {"again": TEXT} is repeated until the client leaves. {token} and
{pair} in them are what the request has as its credential. On HELLOS a ClientHello is answered by requests for another one, without an
end, on TICKETS a handshake by session tickets, on CHAIN by a certificate of half a megabyte, on EXPIRED by one of yesterday, on OLD by TLS 1.1, and on SILENT nothing is ever said.
FOLDER/credentials.log has the port of each request that came with a credential."""

import base64
import contextlib
import json
import pathlib
import socket
import ssl
import subprocess
import sys
import threading
import warnings

import secret_origin

SERVERS = range(9451, 9458)
ANSWERS, HELLOS, TICKETS, CHAIN, EXPIRED, OLD, SILENT = SERVERS


@contextlib.contextmanager
def running(words, origin, address):
    """The servers in the network of these words, beside those of secret_origin.py."""
    (origin.directory / "answers").mkdir()
    server = subprocess.Popen([*words, sys.executable, __file__, str(origin.directory), address], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdout.readline() == b"ready\n"
    try:
        yield server
    finally:
        server.kill()
        server.communicate()


def context_of(folder, chain=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain or folder / f"{secret_origin.PORT}.pem", folder / f"{secret_origin.PORT}.key")
    return context


def request_of(secure):
    head = b""
    while b"\r\n\r\n" not in head and (block := secure.recv(65536)):
        head += block
    return head.decode("latin-1")


def credential_in(head):
    pair = next((line.split(" ", 2)[2] for line in head.split("\r\n") if line.startswith("Authorization: Basic ")), "")
    return pair, base64.b64decode(pair).decode().partition(":")[2]


def serve_answers(folder, connection, context=None):
    with (context or context_of(folder)).wrap_socket(connection, server_side=True) as secure:
        head = request_of(secure)
        pair, token = credential_in(head)
        with open(folder / "credentials.log", "a") as log:
            log.write(f"{secure.getsockname()[1]}\n")
        for piece in json.loads((folder / "answers" / head.split(" ")[1].strip("/")).read_text()):
            is_endless = isinstance(piece, dict)
            text = (piece["again"] if is_endless else piece).replace("{token}", token).replace("{pair}", pair).encode("latin-1")
            secure.sendall(text)
            while is_endless:
                secure.sendall(text)


def serve_hellos(_, connection):
    connection.recv(65536)
    flood = (b"\x16\x03\x03\x40\x00" + bytes(16384)) * 256
    while True:
        connection.sendall(flood)


def serve_tickets(folder, connection):
    context = context_of(folder)
    context.num_tickets = 2**32 - 1
    context.wrap_socket(connection, server_side=True).close()


def serve_chain(folder, connection):
    serve_answers(folder, connection, context_of(folder, folder / "chain.pem"))


def serve_expired(folder, connection):
    serve_answers(folder, connection, context_of(folder, folder / "expired.pem"))


def serve_old(folder, connection):
    context = context_of(folder)
    warnings.simplefilter("ignore", DeprecationWarning)
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    serve_answers(folder, connection, context)


def make_certificates(folder):
    """The server's certificate, and behind it the same one so often that a message of TLS is too large for a client; and an expired one."""
    one = (folder / f"{secret_origin.PORT}.pem").read_text()
    (folder / "chain.pem").write_text(one * (512 * 1024 // len(ssl.PEM_cert_to_DER_cert(one))))
    place = folder / str(secret_origin.PORT)
    secret_origin.run("openssl", "x509", "-req", "-in", f"{place}.csr", "-CA", folder / "ca.pem", "-CAkey", folder / "ca.key", "-days", "-1",
                      "-extfile", f"{place}.ext", "-out", folder / "expired.pem")


def serve_silent(_, connection):
    while connection.recv(65536):
        pass


def serve(folder, address, port, answer):
    def attend(connection):
        with connection, contextlib.suppress(OSError):
            answer(folder, connection)

    def accept(listener):
        while True:
            threading.Thread(target=attend, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, args=(socket.create_server((address, port)),), daemon=True).start()


if __name__ == "__main__":
    directory = pathlib.Path(sys.argv[1])
    make_certificates(directory)
    for number, function in zip(SERVERS, (serve_answers, serve_hellos, serve_tickets, serve_chain, serve_expired, serve_old, serve_silent)):
        serve(directory, sys.argv[2], number, function)
    print("ready", flush=True)
    sys.stdin.read()
