"""Through /v1/ports: clients that smuggle and flood, servers that lie and never end, and requests that come back."""

import socket
import threading

import pytest

import proc
from upstream import Recorded, Upstream, answering, saying, upgraded
from waiting import until
from wire import Stream, request_bytes

OK = "HTTP/1.1 200 OK\r\n"


def answers(raw):
    """The statuses in what a connection gave."""
    return [int(piece[:3]) for piece in raw.split(b"HTTP/1.1 ")[1:]]


# --- clients ---


@pytest.mark.parametrize("fields", [
    "Content-Length: 5\r\nTransfer-Encoding: chunked", "Content-Length: 5\r\nContent-Length: 6",
    "Content-Length: +5", "Content-Length: 5, 5", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
    "Transfer-Encoding: xchunked", "Transfer-Encoding : chunked", "Transfer-Encoding:\x0bchunked",
    "X: a\r\n Transfer-Encoding: chunked", "X: a\nTransfer-Encoding: chunked", "X: a\rTransfer-Encoding: chunked",
    "Host: other", "X\x00: a", "X: a\x00b",
])
def test_an_ambiguous_request_is_not_passed_on(agent, fields):
    seen = Recorded()
    with Upstream(seen) as upstream:
        head = f"POST {upstream.path()} HTTP/1.1\r\nHost: {agent.host}\r\nAuthorization: Bearer {agent.token}\r\n{fields}\r\n\r\n"
        raw = agent.exchange(head.encode("latin-1") + b"0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n")
        assert answers(raw) == [400]
        assert not seen.requests


def test_a_request_in_a_body_stays_a_body(agent):
    seen = Recorded()
    inner = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
    with Upstream(seen) as upstream:
        sneaky = {"Transfer_Encoding": "chunked", "Content_Length": "0", "Content-Length": str(len(inner)), "Connection": "close"}
        raw = agent.exchange(request_bytes("POST", upstream.path(), agent.headers(sneaky), inner))
        assert answers(raw) == [204]
    assert seen.requests[0][2] == inner and len(seen.requests) == 1
    assert not {"transfer_encoding", "content_length", "transfer-encoding"} & set(seen.names())


def test_a_body_that_the_server_did_not_ask_for_does_not_become_a_request(agent):
    """The server answers instead of saying 100: whether the body comes all the same is known to the client alone."""
    inner = request_bytes("GET", "/v1/version", agent.headers())
    with Upstream(saying(OK + "Content-Length: 2\r\n\r\nno")) as upstream, agent.connect() as sock:
        given = agent.headers({"Content-Length": str(len(inner)), "Expect": "100-continue"})
        sock.sendall(request_bytes("POST", upstream.path(), given))
        stream = Stream(sock)
        answer = stream.answer()
        assert (answer.status, answer.body, answer.headers["Connection"]) == (200, b"no", "close")
        sock.sendall(inner)
        with pytest.raises(ConnectionError):
            stream.next_response()


def test_a_body_keeps_a_request_from_becoming_a_tunnel(agent):
    """Two parsers could disagree where one ends and the other begins."""
    switched = saying("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: bytes\r\n\r\n")
    inner = request_bytes("GET", "/smuggled", {"Host": "x"})
    with Upstream(switched) as upstream:
        asks = {"Connection": "Upgrade", "Upgrade": "bytes"}
        agent.request("POST", upstream.path(), body=inner, headers=asks).problem(502, "bad_gateway")
        for version, more in (("1.0", {}), ("1.1", {"Connection": "close"}), ("1.1", {"Connection": "close", "Upgrade": None})):
            given = agent.headers({**asks, **more})
            assert answers(agent.exchange(request_bytes("GET", upstream.path(), given, version=version))) == [502], (version, more)


def test_no_field_is_made_up_by_a_target_or_a_name(agent):
    seen = Recorded()
    with Upstream(seen) as upstream:
        agent.request("GET", upstream.path("/%0d%0aX-Forged:%201?%0d%0aX-Forged:%201"))
        assert seen.line() == "GET /%0d%0aX-Forged:%201?%0d%0aX-Forged:%201 HTTP/1.1" and "x-forged" not in seen.names()
        agent.request("GET", upstream.path(), headers={
            "Connection": "X-Forwarded-For, Host, Via, Content-Length", "X-Forwarded-For": "6.6.6.6", "X-Forwarded_Host": "evil"})
        assert seen.values("X-Forwarded-For") == ["6.6.6.6, 127.0.0.1"] and seen.values("Host") == [f"localhost:{upstream.port}"]
        assert seen.values("X-Forwarded-Host") == [agent.host] and seen.values("Via")
        raw = agent.exchange(f"GET http://127.0.0.1:1{upstream.path('/x')} HTTP/1.1\r\nHost: 127.0.0.1:1\r\nConnection: close\r\n"
                             f"X-Skiff-Token: {agent.token}\r\n\r\n".encode())
        assert answers(raw) == [204] and seen.line() == "GET /x HTTP/1.1", "a target's authority connects nowhere"


def test_thousands_of_options_are_taken_in_one_turn(agent):
    seen = Recorded()
    options = ",".join(f"x{i}" for i in range(2500))
    lines = "".join(f"y{i}:\r\n" for i in range(2000))
    with Upstream(seen) as upstream:
        raw = agent.exchange(f"GET {upstream.path()} HTTP/1.1\r\nHost: {agent.host}\r\nX-Skiff-Token: {agent.token}\r\n"
                             f"Connection: close,{options}\r\n{lines}\r\n".encode())
        assert answers(raw) == [204] and len(seen.names()) > 2000


def test_bytes_behind_an_upgrade_reach_the_server_and_not_the_agent(agent):
    def serve(connection):
        connection.head()
        connection.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: bytes\r\n\r\n")
        heard.append(connection.file.read(len(second)))

    heard = []
    second = request_bytes("GET", "/v1/version", agent.headers())
    with Upstream(serve) as upstream:
        sock, _ = upgraded(agent, upstream, extra=second)
        with sock:
            assert sock.recv(100) == b"", "the agent answers nothing of it"
    assert heard == [second]


def test_a_body_that_breaks_ends_the_request_behind(agent):
    ended = []

    def serve(connection):
        connection.head()
        ended.append(connection.ended())

    with Upstream(serve) as upstream:
        raw = agent.exchange(request_bytes("POST", upstream.path(), agent.headers({"Transfer-Encoding": "chunked"})) +
                             b"3\r\nabc\r\nxyz\r\n")
        assert answers(raw) == [400]
        with agent.connect() as sock:
            sock.sendall(request_bytes("POST", upstream.path(), agent.headers({"Content-Length": "10"})) + b"abc")
        until(lambda: len(ended) == 2, what="both ends behind")


def test_a_client_that_leaves_takes_a_silent_server_along(agent):
    ended = []

    def serve(connection):
        connection.head()
        ended.append(connection.ended())

    with Upstream(serve) as upstream:
        with agent.connect() as sock:
            sock.sendall(request_bytes("GET", upstream.path(), agent.headers()))
            until(lambda: upstream.connections == 1)
        until(lambda: ended, what="the end behind")


# --- servers ---


@pytest.mark.parametrize("said", [
    b"", b"garbage\r\n\r\n", b"HTTP/2.0 200 OK\r\n\r\n", b"HTTP/1.1 20 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: 1\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
    b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nx", b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n", b"HTTP/1.1 200 OK\r\nX\x00: a\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
])
def test_a_server_that_makes_no_sense_is_502(agent, said):
    with Upstream(saying(said)) as upstream:
        agent.request("GET", upstream.path()).problem(502, "bad_gateway")


def endless(begin, again):
    def serve(connection):
        connection.head()
        connection.send(begin)
        while True:
            connection.send(again)

    return serve


@pytest.mark.parametrize("begin, again", [
    (OK, "X: " + "x" * 1000 + "\r\n"), (OK + "X: ", "x" * 1000), ("HTTP/1.1 200 ", "x" * 1000),
    ("", "HTTP/1.1 103 Early Hints\r\nX: " + "x" * 1000 + "\r\n\r\n"), ("", "HTTP/1.1 100 Continue\r\n\r\n"),
], ids=["fields", "value", "reason", "hints", "continue"])
def test_a_head_that_never_ends_is_502(agent, begin, again):
    before = proc.rss_bytes(agent.pid)
    with Upstream(endless(begin, again)) as upstream:
        with agent.connect() as sock:
            sock.sendall(request_bytes("GET", upstream.path(), agent.headers()))
            stream = Stream(sock)
            interim = 0
            while stream.status < 200:
                interim += 1
                stream.next_response()
            assert stream.answer().problem(502, "bad_gateway") and interim <= 16
    assert proc.rss_bytes(agent.pid) - before < proc.allowance(4 << 20)


def test_trailers_that_never_end_cut_the_answer(agent):
    with Upstream(endless(OK + "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n", "X: " + "x" * 1000 + "\r\n")) as upstream:
        with pytest.raises(ConnectionError), agent.stream("GET", upstream.path()) as stream:
            stream.read()


@pytest.mark.parametrize("said", [
    OK + "Content-Length: 10\r\n\r\nshort", OK + "Transfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n",
    OK + "Transfer-Encoding: chunked\r\n\r\n5\r\nshort!\r\n0\r\n\r\n", OK + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nx",
])
def test_an_answer_that_is_cut_is_cut_for_the_client(agent, said):
    with Upstream(saying(said)) as upstream:
        with pytest.raises(ConnectionError), agent.stream("GET", upstream.path()) as stream:
            stream.read()


def test_bytes_beyond_the_length_do_not_become_an_answer(agent):
    poison = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"
    with Upstream(saying(OK + "Content-Length: 4\r\n\r\ngood" + poison)) as bad, Upstream(answering(b"mine")) as good:
        with agent.connect() as sock:
            sock.sendall(request_bytes("GET", bad.path(), agent.headers()) + request_bytes("GET", good.path(), agent.headers()))
            stream = Stream(sock)
            assert stream.read() == b"good"
            stream.next_response()
            assert stream.read() == b"mine"


def test_a_body_where_none_may_be_does_not_become_an_answer(agent):
    with Upstream(saying("HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nevil")) as bad, agent.connect() as sock:
        sock.sendall(request_bytes("GET", bad.path(), agent.headers()) + request_bytes("GET", "/healthz", {"Host": agent.host}))
        stream = Stream(sock)
        assert stream.status == 204 and stream.read() == b""
        stream.next_response()
        assert stream.answer().json()["status"] == "ok"


@pytest.mark.parametrize("method, said", [
    ("HEAD", OK + "Content-Length: 4\r\n\r\nevil"), ("HEAD", OK + "Transfer-Encoding: chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n"),
    ("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\nevil"), ("GET", "HTTP/1.1 204 No Content\r\n"
     "Transfer-Encoding: chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n")])
def test_a_body_behind_a_head_that_promises_none_does_not_become_an_answer(agent, method, said):
    with Upstream(saying(said + "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison")) as bad, agent.connect() as sock:
        sock.sendall(request_bytes(method, bad.path(), agent.headers()) + request_bytes("GET", "/healthz", {"Host": agent.host}))
        stream = Stream(sock, method)
        assert stream.status in (200, 204, 304) and stream.read() == b""
        stream.method = "GET"
        stream.next_response()
        assert stream.answer().json()["status"] == "ok"


def test_an_answer_before_the_body_is_taken(agent):
    """A server may refuse a body that it has not read, and go on taking none of it."""
    def serve(connection):
        connection.head()
        connection.answer(b"no", "413 Content Too Large")
        held.wait(30)

    held = threading.Event()
    with Upstream(serve) as upstream, agent.connect() as sock:
        sock.sendall(request_bytes("POST", upstream.path(), agent.headers({"Content-Length": str(1 << 30)})) + b"x" * 1000)
        answer = Stream(sock).answer()
        assert (answer.status, answer.body) == (413, b"no")
        held.set()


# --- those that come back ---


class Forwarder(Upstream):
    """Passes whole connections on to the agent, as a proxy in the sandbox could."""

    def __init__(self, agent):
        super().__init__(self.carry)
        self.agent = agent

    def carry(self, connection):
        with self.agent.connect() as sock:
            def back():
                try:
                    while piece := sock.recv(65536):
                        connection.sock.sendall(piece)
                except OSError:
                    pass
                connection.end()

            thread = threading.Thread(target=back)
            thread.start()
            while piece := connection.file.read1(65536):
                sock.sendall(piece)
            sock.shutdown(socket.SHUT_WR)
            thread.join(30)


def test_a_request_that_comes_back_has_no_credential(agent):
    with Forwarder(agent) as there:
        agent.request("GET", there.path("/v1/version")).problem(401, "unauthenticated")


def test_a_request_does_not_go_round(start_agent):
    agent = start_agent("--allow-unauthenticated", credential=False)
    with Forwarder(agent) as there:
        round_and_round = there.path(there.path(there.path("/")))
        answer = agent.request("GET", round_and_round, headers={"Authorization": None})
        answer.problem(400, "invalid_request")
        assert there.connections == 1
