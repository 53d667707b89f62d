"""/v1/ports: requests that are passed on to servers in the sandbox, and their answers."""

import base64
import contextlib
import socket
import threading
import time

import pytest

from signing import Signer
from upstream import TWICE, Recorded, Upstream, answering, echo_bytes, repeated, upgraded
from waiting import until
from wire import request_bytes


@pytest.fixture
def recorded():
    """(what came, the server)"""
    seen = Recorded()
    with Upstream(seen) as upstream:
        yield seen, upstream


# --- heads ---


def test_a_request_arrives_as_it_was_sent(agent, recorded):
    seen, upstream = recorded
    answer = agent.request("GET", upstream.path("/a%2Fb//c/../d;e?x=%20+&y&x=%C3%A4"), headers={"X-Own": "one", "Cookie": "a=b"})
    assert answer.status == 204
    assert seen.line() == "GET /a%2Fb//c/../d;e?x=%20+&y&x=%C3%A4 HTTP/1.1"
    assert seen.values("X-Own") == ["one"] and seen.values("Cookie") == ["a=b"]
    assert seen.values("Host") == [f"localhost:{upstream.port}"]
    assert seen.values("Connection") == ["close"]


def test_it_says_where_it_came_from(agent, recorded):
    seen, upstream = recorded
    instance = agent.request("GET", "/v1/version").headers["X-Skiff-Instance"]
    agent.request("GET", upstream.path(), headers={"Forwarded": "for=9.9.9.9", "X_Forwarded_For": "9.9.9.9"})
    assert seen.values("Via") == [f"1.1 {instance}"]
    assert seen.values("X-Forwarded-For") == ["127.0.0.1"]
    assert seen.values("X-Forwarded-Host") == [agent.host]
    assert seen.values("X-Forwarded-Proto") == ["http"]
    assert seen.values("X-Forwarded-Prefix") == [f"/v1/ports/{upstream.port}"]
    assert not {"forwarded", "x_forwarded_for"} & set(seen.names())
    gateway = {"X-Forwarded-For": "10.1.2.3", "X-Forwarded-Host": "3000-box.example.org", "X-Forwarded-Proto": "https",
               "X-Forwarded-Prefix": "", "Via": "1.1 gateway"}
    agent.request("GET", upstream.path(), headers=gateway)
    assert seen.values("Via") == [f"1.1 gateway, 1.1 {instance}"]
    assert seen.values("X-Forwarded-For") == ["10.1.2.3, 127.0.0.1"]
    assert seen.values("X-Forwarded-Host") == ["3000-box.example.org"]
    assert seen.values("X-Forwarded-Proto") == ["https"]
    assert seen.values("X-Forwarded-Prefix") == [""]


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"])
def test_every_method_is_passed_on(agent, recorded, method):
    seen, upstream = recorded
    assert agent.request(method, upstream.path("/x")).status == 204
    assert seen.line() == f"{method} /x HTTP/1.1"


def test_the_method_connect_is_not_passed_on(agent, recorded):
    seen, upstream = recorded
    head = request_bytes("CONNECT", upstream.path(), agent.headers({"Connection": "close"}))
    assert agent.exchange(head).startswith(b"HTTP/1.1 405 ")
    assert not seen.requests


def test_fields_of_one_connection_stay_there(agent):
    seen = Recorded()

    def serve(connection):
        line, fields = connection.head()
        seen.requests.append((line, fields, b""))
        connection.answer(b"x", "200 OK", "Connection: X-Hop", "X-Hop: 1", "Keep-Alive: timeout=5", "Proxy-Authenticate: Basic",
                          "Proxy-Connection: keep-alive", "X-Stays: 1", "Set-Cookie: a=1", "Set-Cookie: b=2")

    with Upstream(serve) as upstream:
        answer = agent.request("GET", upstream.path(), headers={
            "Connection": "keep-alive, X-Named , x-OTHER", "X-Named": "1", "X-Other": "1", "Keep-Alive": "timeout=9",
            "Proxy-Authorization": "Basic eDp5", "Proxy-Connection": "keep-alive", "TE": "trailers, gzip", "X-Stays": "1"})
    assert not {"x-named", "x-other", "keep-alive", "proxy-authorization", "proxy-connection"} & set(seen.names())
    assert seen.values("TE") == ["trailers"] and seen.values("Connection") == ["close, TE"] and seen.values("X-Stays") == ["1"]
    names = {name.lower() for name in answer.headers}
    assert not {"x-hop", "keep-alive", "proxy-authenticate", "proxy-connection", "connection"} & names
    assert answer.headers["X-Stays"] == "1" and answer.headers.get_all("Set-Cookie") == ["a=1", "b=2"]


@pytest.mark.parametrize("body", [b"", b"Content-Length: 1\r\n\r\nx", b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"],
                         ids=["none", "length", "chunked"])
def test_fields_that_the_agent_writes_are_sent_once(agent, recorded, body):
    """A client may have sent them several times. The agent passes on the client's other fields unchanged."""
    seen, upstream = recorded
    own = b"X-Own: 1\r\nX-Own: 2\r\n"
    head = request_bytes("POST", upstream.path(), agent.headers())[:-2]
    assert agent.exchange(head + TWICE + own + (body or b"Content-Length: 0\r\n\r\n")).startswith(b"HTTP/1.1 ")
    assert repeated(seen.requests[-1][1]) == ["x-own"], seen.requests[-1]
    assert seen.values("X-Own") == ["1", "2"]


def test_an_answer_keeps_its_own_fields(agent):
    date = "Sun, 06 Nov 1994 08:49:37 GMT"
    with Upstream(answering(b"no", "404 Gone Fishing", "Server: theirs", f"Date: {date}", "Location: http://elsewhere.invalid/",
                            "X-Request-Id: theirs")) as upstream:
        answer = agent.request("GET", upstream.path())
    assert (answer.status, answer.body) == (404, b"no")
    for name, value in {"Server": "theirs", "Date": date, "Location": "http://elsewhere.invalid/", "X-Request-Id": "theirs"}.items():
        assert answer.headers.get_all(name) == [value]


def test_a_redirect_is_the_clients_to_follow(agent):
    with Upstream(answering(b"", "302 Found", "Location: http://127.0.0.1:1/")) as upstream:
        answer = agent.request("GET", upstream.path())
        assert (answer.status, answer.headers["Location"], upstream.connections) == (302, "http://127.0.0.1:1/", 1)


# --- credentials ---


def test_the_agents_credential_goes_no_further(agent, recorded):
    seen, upstream = recorded
    plain, token = upstream.path(), agent.token
    agent.request("GET", plain)
    assert "authorization" not in seen.names()
    agent.request("GET", plain, headers={"Authorization": "Bearer of-the-application", "X-Skiff-Token": token})
    assert seen.values("Authorization") == ["Bearer of-the-application"] and "x-skiff-token" not in seen.names()
    agent.request("GET", plain, headers={"Authorization": "Basic dXNlcjpwYXNz", "X-Skiff-Token": token})
    assert seen.values("Authorization") == ["Basic dXNlcjpwYXNz"]
    agent.request("GET", plain, headers={"X-Skiff-Token": token})
    assert not {"authorization", "x-skiff-token"} & set(seen.names()), "the same in both"
    encoded = "skiff.bearer." + base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")
    agent.request("GET", plain, headers={"Authorization": "Bearer theirs", "Sec-WebSocket-Protocol": f"chat, {encoded}"})
    assert seen.values("Sec-WebSocket-Protocol") == ["chat"] and seen.values("Authorization") == ["Bearer theirs"]
    agent.request("GET", plain, headers={"Authorization": None, "Sec-WebSocket-Protocol": encoded})
    assert "sec-websocket-protocol" not in seen.names()
    assert not any(token in value for _, fields, _ in seen.requests for _, value in fields)
    before = len(seen.requests)
    for headers in ({"Authorization": None}, {"Authorization": "Basic dXNlcjpwYXNz"},
                    {"Authorization": f"Bearer {token}", "X-Skiff-Token": "wrong"}):
        agent.request("GET", plain, headers=headers).problem(401, "unauthenticated")
    assert len(seen.requests) == before


def test_the_scope_stands_beside_the_others(start_agent, recorded):
    seen, upstream = recorded
    agent = start_agent(tokens=("reads read", "runs exec", "bound exec,read mine", "passes ports", "both exec,ports mine",
                                "chief admin"))
    for token in "reads", "runs", "bound":
        agent.request("GET", upstream.path(), token=token).problem(403, "insufficient_scope")
    assert not seen.requests
    for token in "passes", "both", "chief":
        assert agent.request("GET", upstream.path(), token=token).status == 204
    agent.request("GET", "/v1/version", token="passes").problem(403, "insufficient_scope")
    agent.request("POST", "/v1/run", body=b"true", token="passes").problem(403, "insufficient_scope")


def test_the_applications_pages_may_use_it(start_agent, agent, recorded):
    seen, upstream = recorded
    foreign = {"Origin": "https://3000-box.example.org"}
    assert agent.request("POST", upstream.path(), headers=foreign).status == 204
    assert seen.values("Origin") == [foreign["Origin"]]
    agent.request("POST", upstream.path(), headers={"Host": "evil.example"}).problem(421, "host_not_allowed")
    is_open = start_agent("--allow-unauthenticated", credential=False)
    headers = {"Host": is_open.host, "Authorization": None}
    is_open.request("POST", upstream.path(), headers={**headers, **foreign}).problem(403, "origin_not_allowed")
    assert is_open.request("POST", upstream.path(), headers=headers).status == 204


# --- what there is to connect to ---


def test_ipv6_is_asked_when_ipv4_refuses(agent):
    try:
        upstream = Upstream(answering(b"six"), host="::1")
    except OSError:
        pytest.skip("there is no IPv6 here")
    with upstream:
        assert agent.request("GET", upstream.path()).body == b"six"


@pytest.mark.parametrize("port", ["0", "65536", "99999999999", "-1", "+80", "8o", "0x50", "%2080", "127.0.0.1:80", "[::1]:80"])
def test_a_port_is_a_number(agent, port):
    assert agent.request("GET", f"/v1/ports/{port}/").problem(400, "invalid_field")["field"] == "port"


def test_the_agents_own_ports_are_not_passed_to(start_agent):
    agent = start_agent("--dialect", "python-runtime=127.0.0.1:0", "--listen", "127.0.0.1:0")
    others = [int(agent.next_line().rsplit(":", 1)[1]) for _ in range(2)]
    for port in {agent.port, *others}:
        problem = agent.request("GET", f"/v1/ports/{port}/healthz").problem(400, "invalid_field")
        assert problem["detail"] == f"port {port} is the agent's own"


def test_nobody_listens(agent):
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        agent.request("GET", f"/v1/ports/{sock.getsockname()[1]}/").problem(502, "port_not_listening")


def test_a_full_backlog_and_silence_are_504(start_agent):
    agent = start_agent("--port-timeout", "300ms")
    silent = threading.Event()
    with Upstream(lambda connection: connection.head() and silent.wait(30)) as upstream:
        for method, body in ("GET", None), ("POST", b"x" * 100_000):
            agent.request(method, upstream.path(), body=body).problem(504, "timeout")
        silent.set()
    with socket.create_server(("127.0.0.1", 0), backlog=0) as sock:
        port = sock.getsockname()[1]
        waiting = []
        for _ in range(4):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
            waiting.append(one)
        agent.request("GET", f"/v1/ports/{port}/").problem(504, "timeout")
        for one in waiting:
            one.close()


def test_an_answer_that_has_begun_may_pause(start_agent):
    agent = start_agent("--port-timeout", "100ms")
    go_on, silent = threading.Event(), threading.Event()

    def serve(connection):
        connection.head()
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na")
        go_on.wait(30)
        connection.send("b")

    with Upstream(serve) as upstream, agent.stream("GET", upstream.path()) as stream:
        pieces = stream.chunks()
        assert next(pieces) == b"a"
        with Upstream(lambda connection: connection.head() and silent.wait(30)) as other:
            agent.request("GET", other.path()).problem(504, "timeout")  # so that time has passed
            silent.set()
        go_on.set()
        assert next(pieces) == b"b"


# --- its end ---


def test_an_agent_that_drains_passes_nothing_on(start_agent, recorded):
    seen, upstream = recorded
    agent = start_agent("--drain-timeout", "20s")
    agent.start("trap '' TERM; touch up; while [ ! -e go ]; do sleep 0.02; done", id="holds", kill_grace_ms=20_000)
    until((agent.root / "up").exists)
    with Upstream(echo_bytes) as tunnel:
        sock, _ = upgraded(agent, tunnel)
        with sock:
            agent.process.terminate()
            until(lambda: agent.request("GET", "/readyz").status == 503, what="it drains")
            agent.request("GET", upstream.path()).problem(503, "draining")
            sock.sendall(b"goes on")
            assert sock.recv(100) == b"goes on"
            (agent.root / "go").touch()
            assert agent.process.wait(15) == 143
            assert sock.recv(100) == b""
    assert not seen.requests


def test_a_request_that_is_passed_on_ends_with_its_token(start_agent, tmp_path):
    signer = Signer(tmp_path)
    agent = start_agent("--public-key", signer.public, "--sandbox-id", "box-1")
    token = signer.token(scope="ports", exp=time.time() + 4)
    hold = threading.Event()

    def streams(connection):
        connection.head()
        connection.send("HTTP/1.1 200 OK\r\n\r\nbegun")
        hold.wait(30)

    with Upstream(echo_bytes) as tunnel, Upstream(streams) as upstream:
        sock, _ = upgraded(agent, tunnel, headers={"Authorization": f"Bearer {token}"})
        with sock, agent.stream("GET", upstream.path(), token=token) as stream:
            pieces = stream.chunks()
            assert next(pieces) == b"begun"
            sock.sendall(b"x")
            assert sock.recv(1) == b"x"
            with contextlib.suppress(ConnectionResetError):
                assert sock.recv(1) == b""
            with pytest.raises(ConnectionError):
                next(pieces)
        hold.set()
    agent.request("GET", upstream.path(), token=token).problem(401, "unauthenticated")
