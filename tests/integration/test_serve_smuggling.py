"""Requests to a `skiff serve` that two programs could read differently, and what clients put into connections: nothing of
it reaches a sandbox as something else than the server took it for, and nothing is taken for a request that is none."""

import contextlib
import socket

import pytest

from test_serve_borders import DOMAIN, made, server  # noqa: F401
from upstream import Recorded, answering, saying
from wire import Stream, request_bytes


def ways_in(sandbox, port):
    """(path, Host or None): through the path, and by a host of its own."""
    return [(f"/s/{sandbox}/{port}/", None), ("/", f"{port}-{sandbox}.{DOMAIN}")]


def exchange(server, data):
    """All that comes back up to the end of the connection."""
    host, _, port = server.host.partition(":")
    with socket.create_connection((host, int(port)), timeout=30) as sock:
        sock.sendall(data)
        received = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := sock.recv(65536):
                received += piece
    return received


def statuses(raw):
    return [int(piece[:3]) for piece in raw.split(b"HTTP/1.1 ")[1:]]


TWO_WAYS = ["Content-Length: 5\r\nTransfer-Encoding: chunked", "Content-Length: 5\r\nContent-Length: 6", "Content-Length: +5",
            "Content-Length: 5, 5", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "Transfer-Encoding: xchunked",
            "Transfer-Encoding : chunked", "Transfer-Encoding:\x0bchunked", "Transfer-Encoding: chunked, chunked",
            "Transfer-Encoding: chunked;q=1", "X: a\r\n Transfer-Encoding: chunked", "X: a\nTransfer-Encoding: chunked",
            "X: a\rTransfer-Encoding: chunked", "Host: other", "X\x00: a", "X: a\x00b", " X: a"]


def test_an_ambiguous_request_reaches_no_sandbox(server, serving, key):  # noqa: F811
    sandbox, seen = made(server, key), Recorded()
    with serving.upstream(sandbox, seen) as upstream:
        for fields in TWO_WAYS:
            for path, host in ways_in(sandbox, upstream.port):
                head = f"POST {path} HTTP/1.1\r\nHost: {host or server.host}\r\nX-API-Key: {key}\r\n{fields}\r\n\r\n"
                raw = exchange(server, head.encode("latin-1") + b"0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n")
                assert statuses(raw) == [400], (fields, raw)
        assert not seen.requests


def test_no_field_of_a_client_stands_in_for_those_of_the_gateway(server, serving, key):  # noqa: F811
    """The gateway removes the fields that Connection names, but not its own; and no client can set one in its place."""
    sandbox, seen = made(server, key), Recorded()
    forged = {"X-Skiff-Token": "forged", "X-Forwarded-For": "6.6.6.6", "X-Forwarded-Host": "evil", "X-Forwarded-Proto": "https",
              "X-Forwarded-Prefix": "/evil", "Forwarded": "for=6.6.6.6;host=evil", "X-Sandbox-Pod-IP": "6.6.6.6"}
    named = "close, X-Skiff-Token, X-Forwarded-For, X-Forwarded-Host, X-Forwarded-Prefix, Via, Host, X-API-Key, Content-Length"
    with serving.upstream(sandbox, seen) as upstream:
        for path, host in ways_in(sandbox, upstream.port):
            given = {"Host": host or server.host, "X-API-Key": key, "Connection": named, "Cookie": "own=1; skiff-preview=x.y", **forged}
            assert statuses(exchange(server, request_bytes("POST", path, {**given, "Content-Length": "2"}, b"hi"))) == [204], path
            assert seen.requests[-1][2] == b"hi"
            assert not {"x-api-key", "x-skiff-token", "forwarded", "x-sandbox-pod-ip"} & set(seen.names())
            assert not [value for _, value in seen.requests[-1][1] if "6.6.6.6" in value or "evil" in value], seen.requests[-1]
            assert seen.values("X-Forwarded-For") and seen.values("Via") and seen.values("Cookie") == ["own=1"]
    # The agent has its credential by the same way, whatever the client does to that field.
    given = {"Host": server.host, "X-API-Key": key, "Connection": named, "X-Skiff-Token": "forged"}
    assert statuses(exchange(server, request_bytes("GET", f"/s/{sandbox}/7070/v1/version", given))) == [200]
    trailers = b"2\r\nhi\r\n0\r\nX-Skiff-Token: forged\r\nAuthorization: Bearer x\r\nHost: evil\r\nContent-Length: 9\r\n\r\n"
    given = {"Host": server.host, "X-API-Key": key, "Connection": "close", "Transfer-Encoding": "chunked"}
    assert statuses(exchange(server, request_bytes("PUT", f"/s/{sandbox}/7070/v1/files/f", given, trailers))) == [201]


def test_each_request_of_a_kept_connection_shows_its_own_credential(server, serving, key):  # noqa: F811
    other = serving.key("other", "--tenant", "other", "--scope", "admin")
    sandbox, seen = made(server, key), Recorded()
    with serving.upstream(sandbox, seen) as upstream:
        for path, host in ways_in(sandbox, upstream.port):
            given = {"Host": host or server.host}
            data = request_bytes("GET", path, {**given, "X-API-Key": key})
            data += request_bytes("GET", path, {**given, "X-API-Key": other})
            data += request_bytes("GET", path, {**given, "Connection": "close"})
            assert statuses(exchange(server, data)) == [204, 404, 401], path
        assert len(seen.requests) == 2


def test_a_body_that_the_server_did_not_ask_for_does_not_become_a_request(server, serving, key):  # noqa: F811
    sandbox = made(server, key)
    inner = request_bytes("GET", "/v1/me", {"Host": server.host, "X-API-Key": key, "Connection": "close"})
    with serving.upstream(sandbox, saying("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno")) as upstream:
        for path, host in ways_in(sandbox, upstream.port):
            given = {"Host": host or server.host, "X-API-Key": key, "Content-Length": str(len(inner)), "Expect": "100-continue"}
            at, _, port = server.host.partition(":")
            with socket.create_connection((at, int(port)), timeout=30) as sock:
                sock.sendall(request_bytes("POST", path, given))
                stream = Stream(sock)
                answer = stream.answer()
                assert (answer.status, answer.body, answer.headers["Connection"]) == (200, b"no", "close")
                sock.sendall(inner)
                with pytest.raises(ConnectionError):
                    stream.next_response()


def test_bytes_behind_an_upgrade_are_never_taken_by_the_gateway(server, serving, key):  # noqa: F811
    """The gateway and the server take no byte twice, and none that is for the other, whether the server has switched or not."""
    sandbox, heard = made(server, key), []
    inner = request_bytes("GET", "/v1/me", {"Host": server.host, "X-API-Key": key, "Connection": "close"})

    def switches(connection):
        connection.head()
        connection.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: bytes\r\n\r\n")
        heard.append(connection.file.read(len(inner)))

    asks = {"Connection": "Upgrade", "Upgrade": "bytes", "X-API-Key": key}
    with serving.upstream(sandbox, switches) as upstream:
        for number, (path, host) in enumerate(ways_in(sandbox, upstream.port), 1):
            raw = exchange(server, request_bytes("GET", path, {"Host": host or server.host, **asks}) + inner)
            assert statuses(raw) == [101] and heard == [inner] * number
    # A body, or an old version, makes it no upgrade: then a server that switches all the same makes no sense.
    switched = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: bytes\r\n\r\n"
    with serving.upstream(sandbox, saying(switched)) as upstream:
        for path, host in ways_in(sandbox, upstream.port):
            more = {"Host": host or server.host, **asks, "Content-Length": str(len(inner))}
            assert statuses(exchange(server, request_bytes("POST", path, {**more, "Connection": "Upgrade, close"}, inner))) == [502]
            assert statuses(exchange(server, request_bytes("GET", path, {"Host": host or server.host, **asks}, version="1.0"))) == [502]
    with serving.upstream(sandbox, answering(b"stays")) as upstream:
        for path, host in ways_in(sandbox, upstream.port):
            raw = exchange(server, request_bytes("GET", path, {"Host": host or server.host, **asks}) + inner)
            assert statuses(raw) == [200, 200] and b'"tenant"' in raw  # a request of its own, by its own credential


def test_hosts_that_are_nearly_a_sandboxs_lead_nowhere(server, serving, key):  # noqa: F811
    sandbox, seen = made(server, key), Recorded()
    with serving.upstream(sandbox, seen) as upstream:
        port = upstream.port
        name = f"{port}-{sandbox}"
        odd = [f"{name}.{DOMAIN}.", f"{name}..{DOMAIN}", f".{name}.{DOMAIN}", f"x.{name}.{DOMAIN}", f"{name}.x.{DOMAIN}",
               f"0{name}.{DOMAIN}", f"+{name}.{DOMAIN}", f"-{name}.{DOMAIN}", f"{port}--{sandbox}.{DOMAIN}", f"{name}-.{DOMAIN}",
               f"{port + 65536}-{sandbox}.{DOMAIN}", f"0-{sandbox}.{DOMAIN}", f"{name}.{DOMAIN}:80:80", f"{name}.{DOMAIN}:x",
               f"{name}.{DOMAIN}:80@evil", f"evil@{name}.{DOMAIN}", f"{name}.{DOMAIN}/", f"{name}.{DOMAIN}#", f"{name}.{DOMAIN}%00",
               f"{name}%2e{DOMAIN}", f"{name}{DOMAIN}", f"{name}.evil{DOMAIN}", f"{name}.{DOMAIN}.evil", f"[{name}.{DOMAIN}]",
               f"{name}.{DOMAIN} ", f"{name}_.{DOMAIN}", f"\t{name}.{DOMAIN}\tx", f"{name}.{DOMAIN},{DOMAIN}", ""]
        for host in odd:
            raw = exchange(server, f"GET / HTTP/1.1\r\nHost: {host}\r\nX-API-Key: {key}\r\nConnection: close\r\n\r\n".encode())
            # Blanks around a value are none of it.
            assert (statuses(raw) == [204]) == (host.strip() == f"{name}.{DOMAIN}"), (host, raw)
        assert len(seen.requests) == 1
        # A target in absolute form counts (RFC 9112, 3.2.2), whatever Host says beside it.
        for target, host in ((f"http://{DOMAIN}/", f"{name}.{DOMAIN}"), (f"http://{port + 1}-{sandbox}.{DOMAIN}/", f"{name}.{DOMAIN}")):
            assert statuses(exchange(server, request_bytes("GET", target, {"Host": host, "X-API-Key": key, "Connection": "close"}))) != [204]
        assert len(seen.requests) == 1
