"""Connections without a credential, as many as the door takes and more: who has one gets in all the same, and a probe is
answered."""

import contextlib
import itertools
import socket
import ssl

import pytest

from test_tls import make_certificate
from waiting import until
from wire import Stream, parse, request_bytes

FRIENDS = 8  # --max-connections
ALL = FRIENDS + 64  # with the places that only strangers get


@pytest.fixture(params=["tcp", "unix", "tls"])
def door(request, start_agent, tmp_path):
    if request.param == "tls":
        certificate, key = make_certificate(tmp_path / "tls")
        return start_agent("--max-connections", FRIENDS, "--tls-cert", certificate, "--tls-key", key,
                           tls=ssl._create_unverified_context())
    listen = f"unix:{tmp_path}/socket" if request.param == "unix" else "127.0.0.1:0"
    return start_agent("--max-connections", FRIENDS, listen=listen)


def bare(agent):
    """A connection on which no TLS handshake has begun."""
    if agent.unix_path:
        return agent.connect()
    return socket.create_connection((agent.ip, agent.port), 30)


class Stranger:
    """One of a crowd: opens a connection, does its worst on it, and comes again when it was closed."""

    def __init__(self, agent, behaviour):
        self.agent, self.behaviour, self.sock = agent, behaviour, None

    def act(self):
        try:
            if self.sock is None:
                self.sock = bare(self.agent) if self.behaviour == "no handshake" else self.agent.connect()
                self.begin()
            else:
                self.go_on()
        except OSError:
            self.leave()

    def begin(self):
        host = {"Host": self.agent.host}
        match self.behaviour:
            case "no handshake" | "half a head":
                self.sock.sendall(b"GET /healthz HT" if self.behaviour == "half a head" else b"\x16\x03")
            case "health":
                self.ask()
            case "a slow body of what is open":
                self.sock.sendall(request_bytes("GET", "/healthz", {**host, "Content-Length": "90000"}))
            case "a slow body of what is refused":
                self.sock.sendall(request_bytes("POST", "/v1/run", {**host, "Transfer-Encoding": "chunked"}, b"100\r\n"))

    def go_on(self):
        match self.behaviour:
            case "health":
                self.ask()
            case "idle" | "no handshake":
                self.sock.settimeout(0.0001)
                with contextlib.suppress(TimeoutError):
                    if not self.sock.recv(1):
                        self.leave()
            case _:
                self.sock.sendall(b"x")

    def ask(self):
        self.sock.sendall(request_bytes("GET", "/healthz", {"Host": self.agent.host}))
        if not self.sock.recv(4096):
            self.leave()

    def leave(self):
        if self.sock is not None:
            self.sock.close()
            self.sock = None


BEHAVIOURS = ["idle", "half a head", "health", "a slow body of what is open", "a slow body of what is refused",
              "no handshake"]


@pytest.mark.parametrize("behaviours", [*([one] for one in BEHAVIOURS), BEHAVIOURS], ids=[*BEHAVIOURS, "all of it"])
def test_a_client_with_a_credential_gets_in_past_a_crowd(door, behaviours):
    with contextlib.ExitStack() as held:
        crowd = [Stranger(door, behaviour) for _, behaviour in zip(range(2 * ALL), itertools.cycle(behaviours))]
        for stranger in crowd:
            held.callback(stranger.leave)
        for number in range(4):
            for stranger in crowd:
                stranger.act()
            with door.connect() as sock:
                for stranger in crowd[:ALL // 2]:  # between its connection and its request
                    stranger.act()
                sock.sendall(request_bytes("PUT", f"/v1/files/f{number}", door.headers({"Content-Length": "1"}), b"x"))
                with Stream(sock, "PUT") as stream:
                    assert stream.answer().status == 201
                    for stranger in crowd:  # it stays in, whoever comes
                        stranger.act()
                    sock.sendall(request_bytes("DELETE", f"/v1/files/f{number}", door.headers()))
                    stream.next_response()
                    assert stream.answer().status == 204
            assert door.request("GET", "/healthz", token="wrong").status == 200
    assert door.run("echo well")["stdout"] == "well\n"


def test_a_probe_is_answered_when_clients_have_all_places(door):
    door.start("exec sleep 1000", id="long")
    with contextlib.ExitStack() as held:
        for _ in range(FRIENDS):
            assert held.enter_context(door.stream("GET", "/v1/commands/long/output?follow=true")).status == 200  # and goes on
        for _ in range(ALL + 1):
            refused = door.request("GET", "/v1/version")
            refused.problem(503, "too_many_connections")
            assert (refused.headers["Retry-After"], refused.headers["Connection"]) == ("1", "close")
            assert door.request("GET", "/healthz").status == door.request("GET", "/readyz").status == 200
            door.request("GET", "/v1/version", token="wrong").problem(401)
    until(lambda: door.request("GET", "/v1/version").status == 200, what="room for a client")


@pytest.mark.parametrize("framing", [{"Content-Length": "90000"}, {"Transfer-Encoding": "chunked"}])
@pytest.mark.parametrize("method,path", [("GET", "/healthz"), ("POST", "/v1/run")])
def test_a_body_without_a_credential_has_an_end(start_agent, method, path, framing):
    """The agent ends it however it trickles, and although it did not ask for it."""
    agent = start_agent()
    with agent.connect() as sock:
        sock.sendall(request_bytes(method, path, {"Host": agent.host, **framing}))
        if "Transfer-Encoding" in framing:
            sock.sendall(b"10000\r\n")
        until(lambda: is_hung_up(sock), what="the end of the connection")


def is_hung_up(sock):
    try:
        sock.sendall(b"x")
    except OSError:
        return True
    return False


def test_a_refusal_ends_the_connection(agent):
    for token in (None, "wrong"):
        headers = {"Host": agent.host, **({"Authorization": f"Bearer {token}"} if token else {})}
        answer = agent.exchange(request_bytes("GET", "/v1/version", headers))  # reads to the end of the connection
        refused = parse(answer)
        refused.problem(401, "unauthenticated")
        assert refused.headers["Connection"] == "close"
