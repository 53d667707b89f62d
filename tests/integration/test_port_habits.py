"""Habits of servers and clients that every browser and curl get along with: a port passes them on."""

import socket
import threading

import pytest

from upstream import Recorded, Upstream, saying
from waiting import until
from wire import parse, request_bytes

DOMAIN = "sandboxes.localhost"
KINDS = ["port", "path", "host"]


@pytest.fixture(params=KINDS)
def way(request):
    """A function that gives (address, fields, the path before the server's own) of a port."""
    if request.param == "port":
        agent = request.getfixturevalue("agent")
        return lambda port: (agent.host, agent.headers(), f"/v1/ports/{port}")
    serving, key = request.getfixturevalue("serving"), request.getfixturevalue("key")
    server = serving.start("--domain", DOMAIN)
    sandbox = server.request("POST", "/v1/sandboxes", {}, key).json()["id"]
    if request.param == "path":
        return lambda port: (server.host, {"Host": server.host, "X-API-Key": key}, f"/s/{sandbox}/{port}")
    return lambda port: (server.host, {"Host": f"{port}-{sandbox}.{DOMAIN}", "X-API-Key": key}, "")


def asking(way, port, method="GET", path="/", headers=None, body=b"", shuts=False):
    """A socket on which the request was sent; `shuts`: and nothing follows."""
    address, fields, before = way(port)
    host, _, number = address.rpartition(":")
    sock = socket.create_connection((host, int(number)), timeout=60)
    sock.sendall(request_bytes(method, before + path, {**fields, "Connection": "close", **(headers or {})}, body))
    if shuts:
        sock.shutdown(socket.SHUT_WR)
    return sock


def answered(sock):
    with sock:
        raw = b""
        while piece := sock.recv(65536):
            raw += piece
    return parse(raw)


def ask(way, port, **how):
    return answered(asking(way, port, **how))


# --- targets ---


@pytest.mark.parametrize("target", ["/announce?info_hash=%00%01%FF", "/keys/a%00b", "/?discount=100%", "/?a=%f&b=%4&c=%zz", "/100%/x", "/%",
                                    "/%00?%00=%00"])
def test_targets_that_are_passed_on_are_not_decoded(way, target):
    seen = Recorded()
    with Upstream(seen) as upstream:
        assert ask(way, upstream.port, path=target).status == 204
    assert seen.line() == f"GET {target} HTTP/1.1"


def test_targets_that_can_not_be_decoded_are_refused_unless_they_are_passed_on(agent, serving, key):
    for target in "/v1/files/a%00b", "/v1/version?a=%00", "/v1/commands?limit=100%", "/v1/files/%zz", "/v1/ports/30%00/", "/v1/ports/30%/", "/%":
        assert agent.request("GET", target).problem(400), target
    server = serving.start("--domain", DOMAIN)
    sandbox = server.request("POST", "/v1/sandboxes", {}, key).json()["id"]
    for target in "/v1/sandboxes?owner=%00", "/v1/sandboxes/%zz", "/sandboxes?x=%", "/%00":
        assert server.request("GET", target, key=key).status == 400, target
    for port in 7070, 49983:
        assert server.request("GET", f"/s/{sandbox}/{port}/v1/files/a%00b", key=key).status in (400, 502), port
    # It does not change the path that says which port a request is for.
    for path in f"/s/{sandbox}%00/7070/v1/version", f"/s/{sandbox}/70%370/v1/version", f"/s%2F{sandbox}/7070/v1/version":
        assert server.request("GET", path, key=key).status in (400, 404), path


def test_a_previews_link_is_found_beside_what_cant_be_decoded(serving, key):
    server, seen = serving.start("--domain", DOMAIN), Recorded()
    sandbox = server.request("POST", "/v1/sandboxes", {}, key).json()["id"]
    with Upstream(seen) as upstream:
        made = server.request("POST", f"/v1/sandboxes/{sandbox}/previews", {"port": upstream.port}, key).json()["url"]
        host, link = made.split("/")[2], made.partition("?")[2]
        opened = server.request("GET", f"/a?x=100%&{link}&y=%00", headers={"Host": host})
        assert opened.status == 302 and opened.headers["Location"].endswith("/a?x=100%&y=%00")
        cookie = {"Host": host, "Cookie": opened.headers["Set-Cookie"].partition(";")[0]}
        assert server.request("GET", "/a?x=100%&y=%00", headers=cookie).status == 204
    assert seen.line() == "GET /a?x=100%&y=%00 HTTP/1.1"


# --- answers ---


@pytest.mark.parametrize("head", ["HTTP/1.1 200 OK\nContent-Type: text/plain\n\n", "HTTP/1.0 200 OK\n\n", "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\n",
                                  "HTTP/1.1 200\nContent-Length: 5\n\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\n\r\n"])
def test_answers_of_netcat_and_shell_scripts_are_taken(way, head):
    with Upstream(saying(head, b"hello")) as upstream:
        answer = ask(way, upstream.port)
    assert (answer.status, answer.body) == (200, b"hello")


@pytest.mark.parametrize("answer", [
    "HTTP/1.1 200 OK\nContent-Length: 5\nContent-Length: 6\n\nhello", "HTTP/1.1 200 OK\nContent-Length: 5\nTransfer-Encoding: chunked\n\n5\r\nhello\r\n",
    "HTTP/1.1 200 OK\nA: b\n c\n\nhello", "HTTP/1.1 200 OK\nA: b\rContent-Length: 1\n\nhello", "HTTP/1.1 200 OK\nA : b\n\nhello",
    "HTTP/1.1 20\n\nhello", "hello\n\n", "\nHTTP/1.1 200 OK\n\nhello", "HTTP/1.1 200 OK\nA\x00: b\n\nhello"])
def test_an_ambiguous_answer_is_502(way, answer):
    with Upstream(saying(answer)) as upstream:
        assert ask(way, upstream.port).status == 502


def test_nothing_behind_an_answer_becomes_another_one(way):
    inner = "HTTP/1.1 200 OK\nContent-Length: 8\n\nsmuggled"
    with Upstream(saying("HTTP/1.1 200 OK\nContent-Length: 2\nX: a\n\nok", inner)) as upstream:
        for _ in range(3):
            answer = ask(way, upstream.port)
            assert (answer.status, answer.body) == (200, b"ok")


# --- clients that shut their half ---


@pytest.mark.parametrize("method, body", [("GET", b""), ("POST", b"x" * 100_000)])
def test_a_client_that_has_said_all_gets_its_answer(way, method, body):
    asked, go_on = threading.Event(), threading.Event()

    def serve(connection):
        _, fields = connection.head()
        size = len(connection.body(fields))
        asked.set()
        go_on.wait(30)
        connection.answer(b"y" * 300_000 + str(size).encode())

    with Upstream(serve) as upstream:
        headers = {"Content-Length": str(len(body))} if body else {}
        sock = asking(way, upstream.port, method=method, headers=headers, body=body, shuts=True)
        assert asked.wait(30)
        go_on.set()
        answer = answered(sock)
    assert (answer.status, answer.body) == (200, b"y" * 300_000 + str(len(body)).encode())


def test_a_client_that_is_gone_takes_the_other_side_along(agent):
    """A client may end its direction first: a silent answer then ends after a while, one that is being sent at once."""
    ended, begun = [], threading.Event()

    def streams(connection):
        connection.head()
        connection.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        begun.set()
        connection.ended()
        ended.append("it left")

    with Upstream(streams) as upstream:
        sock = socket.create_connection(("127.0.0.1", agent.port), timeout=60)
        sock.sendall(request_bytes("GET", upstream.path(), agent.headers()))
        assert begun.wait(30)
        sock.close()
        until(lambda: ended, what="the end behind")


@pytest.mark.parametrize("blanks", [" ", "  \t", " ;name=value", "      "])
def test_blanks_behind_the_size_of_a_chunk_are_passed_over(way, blanks):
    whole = f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2{blanks}\r\nok\r\n0{blanks}\r\n\r\n"
    with Upstream(saying(whole)) as upstream:
        assert ask(way, upstream.port).body == b"ok"

