"""HTTP at the door of every dialect, and of the agent's own API beside them: whose pages may come in, what has no route, limits,
heads, connections that outlive errors, and requests that are half or broken."""

import http.client
import os
import socket

import pytest

from dialect_doors import HTTP, JSON, Ask, at, doors  # noqa: F401
from waiting import until
from wire import Stream, parse

KIB, MIB = 1 << 10, 1 << 20


def refused(at, answer, status):
    """That status, in the words of the dialect."""
    assert answer.status == status and at.sentence(answer), answer
    assert answer.headers["Content-Type"].split(";")[0] in ("application/json", "application/problem+json", "text/plain")


# --- web pages ---


FOREIGN = ["evil.example", "evil.example:80", "svc.evil.example", "cluster.local.evil.example", "localhost.evil.example"]


@doors(of=HTTP)
@pytest.mark.parametrize("host", FOREIGN)
def test_a_foreign_host_is_refused(at, host):
    for ask in (*at.changes(), at.read("f"), Ask("GET", at.probe)):
        refused(at, at.send(ask, Host=host), 421)
    assert not (at.files / "made").exists()


CLUSTER = ["10.1.2.3:8888", "sandbox-1", "sandbox-1.ns.svc", "sandbox-1.ns.svc.cluster.local:8888", "[fd00::1]:8888"]


@doors(of=[door for door in HTTP if door.name])
def test_the_names_of_a_cluster_are_its_own(at):
    for host in ("localhost", "box.localhost:1", "127.0.0.1", *CLUSTER):
        assert at.get(at.probe, Host=host).status in (200, 204), host


@doors(of=HTTP, settings=("--allowed-host", "*.good.example", "--allowed-host", "*", "--allowed-origin", "https://app.example"))
def test_a_host_and_an_origin_can_be_allowed_and_any_host_only_where_a_credential_is_asked_for(at):
    for ask in at.changes():
        assert at.send(ask, Host="box.good.example", Origin="https://app.example").status < 300
    assert at.get(at.probe, Host="evil.example").status == (421 if at.name else 200)


@doors(of=HTTP)
@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil.example", "http://127.0.0.1"])
def test_a_foreign_origin_changes_nothing(at, origin):
    (at.files / "kept").write_text("x")
    for ask in (*at.changes(), *([at.remove("kept")] if at.remove else ())):
        refused(at, at.send(ask, Origin=origin), 403)
    assert os.listdir(at.files) == ["kept"]
    # Reading changes nothing, and its own pages may do everything.
    assert at.send(at.read("kept"), Origin=origin).body == b"x"
    for ask in at.changes():
        assert at.send(ask, Origin=f"http://{at.door.host}").status < 300


# --- routes and methods ---


@doors(of=HTTP)
def test_a_path_without_a_route_is_404(at):
    for path in (at.unknown, at.unknown + "/", "/favicon.ico", "/%2e%2e/x"):
        refused(at, at.get(path), 404)
        refused(at, at.send(Ask("POST", path, b"x")), 404)


def allowed(at, method, path):
    """The Allow field of the answer for a path that does not take this method."""
    answer = at.send(Ask(method, path))
    refused(at, answer, 405)
    return {one.strip() for one in answer.headers["Allow"].split(",")}


@doors(of=HTTP)
def test_a_wrong_method_is_405_and_allow_tells_the_right_ones(at):
    for method, path in at.wrong:
        right = allowed(at, method, path)
        refusing = {other for other in ("GET", "HEAD", "POST", "PUT", "PATCH") if at.send(Ask(other, path)).status == 405}
        assert refusing - {"HEAD"} == {"GET", "POST", "PUT", "PATCH"} - right and ("HEAD" in refusing) == ("GET" in refusing), path


@doors("allows_head", of=HTTP)
def test_allow_names_head_where_it_is_answered(at):
    for method, path in at.wrong:
        assert (at.send(Ask("HEAD", path)).status == 405) == ("HEAD" not in allowed(at, method, path)), path


@doors(of=[door for door in HTTP if door.name])
def test_the_agents_own_routes_are_not_behind_its_doors(at):
    for path in ("/v1/sessions", "/v1/commands", "/v1/init", "/openapi.json", "/v1/version", "/mcp"):
        assert at.get(path, Authorization=f"Bearer {at.agent.token}").status == 404, path
    assert at.agent.request("GET", "/v1/sessions", token="wrong").status == 401


@doors(of=HTTP)
def test_head_tells_what_get_would(at):
    at.put("f", b"here")
    os.utime(at.files / "f", (1_700_000_000, 1_700_000_000))  # the ETag of a file that is just written is its hash
    for path in at.gets:
        got, head = at.get(path), at.send(Ask("HEAD", path))
        assert (head.status, head.body) == (got.status, b"") and got.status in (200, 204), path
        for name in ("Content-Length", "Content-Type", "ETag", "Last-Modified", "Content-Disposition", "Accept-Ranges"):
            assert head.headers[name] == got.headers[name], (path, name)


@doors(of=HTTP)
def test_part_of_a_file_is_read(at):
    at.put("f", b"0123456789")
    for asked, body in (("bytes=2-4", b"234"), ("bytes=-3", b"789"), ("bytes=8-99", b"89")):
        answer = at.send(at.read("f"), Range=asked)
        assert (answer.status, answer.body) == (206, body), asked
    assert at.send(at.read("f"), Range="bytes=10-").status == 416


# --- limits ---


@doors(of=HTTP)
def test_heads_that_are_too_large_are_refused(at):
    refused(at, at.get(at.probe, **{"X-Long": "x" * 32 * KIB}), 431)
    refused(at, at.get(at.probe, **{f"X-{i}": "x" * 100 for i in range(400)}), 431)
    refused(at, at.get(f"{at.probe}?{'x' * 9000}"), 414)
    assert at.get(at.probe, **{"X-Long": "x" * 24 * KIB}).status in (200, 204)


@doors("limits_bodies", of=HTTP)
def test_bodies_that_are_too_large_are_refused_before_they_come(at):
    for path, size in at.limits_bodies:
        refused(at, parse(at.exchange(at.bytes(Ask("POST", path, headers=JSON), **{"Content-Length": size}))), 413)


@doors(of=HTTP, settings=("--header-timeout", "200ms", "--body-timeout", "200ms"))
def test_a_request_that_stops_in_the_middle_is_given_up(at):
    whole = at.bytes(at.write("f", b"x" * 1000))
    for cut in (10, len(whole) - 100):
        refused(at, parse(at.exchange(whole[:cut])), 408)
    assert not list(at.files.iterdir()) and at.is_well()


# --- connections ---


@doors(of=HTTP)
def test_a_connection_outlives_every_error(at):
    (at.files / "d").mkdir()
    method, path = at.wrong[0]
    wrong = [Ask("GET", at.unknown), Ask("POST", at.unknown, b"x" * 100_000), Ask(method, path, b"x" * 100_000), at.read("none"),
             at.read("../x"), at.write("../x", b"x" * 100_000), at.write("d", b"x" * 100_000), Ask("HEAD", at.unknown)]
    right = [Ask("GET", at.probe), at.write("f", b"x" * 100_000), at.read("f"), Ask("HEAD", at.read("f").path)]
    connection = http.client.HTTPConnection("127.0.0.1", at.door.port, timeout=30)
    ports = set()
    for ask in (wrong + right) * 2:
        connection.request(ask.method, ask.path, body=ask.body, headers={"Host": at.door.host, **at.own_headers, **ask.headers})
        ports.add(connection.sock.getsockname()[1])
        response = connection.getresponse()
        response.read()
        assert (response.status < 300) == (ask in right), (ask.method, ask.path, response.status)
    connection.close()
    assert len(ports) == 1, "each was sent on the same connection"


@doors(of=HTTP)
def test_a_body_may_come_in_chunks_or_when_it_is_asked_for(at):
    ask = at.write("f", b"some bytes")
    chunked = b"".join(b"1\r\n%c\r\n" % byte for byte in ask.body) + b"0\r\n\r\n"
    head = at.bytes(Ask(ask.method, ask.path, None, ask.headers), **{"Transfer-Encoding": "chunked", "Connection": "close"})
    assert parse(at.exchange(head + chunked)).status < 300 and at.content("f") == b"some bytes"
    with at.connect() as sock:
        head = at.bytes(Ask(ask.method, ask.path, None, ask.headers), **{"Content-Length": len(ask.body), "Expect": "100-continue"})
        sock.sendall(head)
        assert sock.recv(100).startswith(b"HTTP/1.1 100 ")
        sock.sendall(ask.body)
        with Stream(sock) as stream:
            assert stream.answer().status < 300
    # A GET may have one that is empty, as the Python router of agent-sandbox forwards it.
    head = at.bytes(at.read("f"), **{"Transfer-Encoding": "chunked", "Connection": "close"})
    assert parse(at.exchange(head + b"0\r\n\r\n")).body == b"some bytes"


@doors(of=HTTP)
def test_a_client_that_shuts_its_half_gets_what_is_done_at_once(at):
    at.put("f", b"here")
    for ask in (Ask("GET", at.probe), at.read("f"), at.write("g", b"there")):
        with at.connect() as sock:
            sock.sendall(at.bytes(ask))
            sock.shutdown(socket.SHUT_WR)
            with Stream(sock) as stream:
                assert stream.answer().status < 300, ask.path
    assert at.content("g") == b"there"


@doors(of=HTTP)
def test_half_a_request_does_nothing(at):
    for whole in map(at.bytes, at.changes()):
        for cut in range(0, len(whole), 7):
            with at.connect() as sock:
                sock.sendall(whole[:cut])
                sock.shutdown(socket.SHUT_RDWR)
    assert at.is_well()
    until(lambda: not list(at.files.iterdir()), what=f"nothing in {list(at.files.iterdir())}")


BROKEN = {
    "two hosts": (b"GET %b HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    "no host": (b"GET %b HTTP/1.1\r\n\r\n", 400),
    "half of an escape": (b"GET /%%zz%b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 400),
    "two lengths": (b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    "an odd length": (b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Length: +1\r\n\r\n", 400),
    "a field without a name": (b"GET %b HTTP/1.1\r\nHost: localhost\r\n: x\r\n\r\n", 400),
    "a folded field": (b"GET %b HTTP/1.1\r\nHost: localhost\r\nA: b\r\n c\r\n\r\n", 400),
    "no version": (b"GET %b\r\n\r\n", 400),
}


@doors(of=HTTP)
@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_request_is_refused_in_the_dialects_words(at, what):
    request, status = BROKEN[what]
    refused(at, parse(at.exchange(request % at.probe.encode())), status)
    assert at.is_well()


@doors(of=HTTP)
def test_a_version_of_http_to_come_is_refused(at):
    refused(at, parse(at.exchange(f"GET {at.probe} HTTP/3.0\r\nHost: localhost\r\n\r\n".encode())), 505)
