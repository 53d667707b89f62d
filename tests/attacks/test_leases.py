"""Only a client with the right to do so keeps a sandbox alive beyond its time, or ends it before."""

import threading

import pytest

from signing import Signer
from wire import request_bytes


def test_connections_of_strangers_do_not_count_as_activity(start_agent):
    """A command leaves somebody behind who knocks without end: the idle time is over all the same."""
    agent = start_agent("--idle-ttl", "1s", warm=False)
    over = threading.Event()

    def knock(data):
        while not over.is_set():
            try:
                with agent.connect(5) as sock:
                    sock.sendall(data)
                    while sock.recv(4096) and not over.is_set():
                        sock.sendall(data)
            except OSError:
                if not agent.running():
                    return

    host = {"Host": agent.host}
    knocks = [request_bytes("GET", "/healthz", host), request_bytes("GET", "/v1/sessions", host), b"GET /healthz HT",
              request_bytes("GET", "/v1/version", {**host, "Authorization": "Bearer wrong"}),
              request_bytes("POST", "/v1/run", {**host, "Transfer-Encoding": "chunked"}, b"100\r\n"),
              request_bytes("GET", "/v1/connect", {**host, "Connection": "Upgrade", "Upgrade": "websocket",
                                                   "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "A" * 22 + "=="})]
    threads = [threading.Thread(target=knock, args=(data,)) for data in knocks]
    for thread in threads:
        thread.start()
    try:
        assert agent.process.wait(60) == 0
        assert "idle" in agent.log()
    finally:
        over.set()
        for thread in threads:
            thread.join()


@pytest.mark.parametrize("claims", [{"scope": "exec"}, {"scope": "read exec ports"}, {"scope": "administrator"},
                                    {"scope": "admin,exec"}, {"scope": "ADMIN"}, {"scope": "admin", "session": "default"},
                                    {"scope": None}, {"scope": ""}, {"scope": ["admin"]}, {"scopes": "admin"},
                                    {"scp": "admin", "scope": "read"}])
def test_a_lesser_token_neither_renews_a_lease_nor_binds_a_sandbox(start_agent, tmp_path, claims):
    signer = Signer(tmp_path)
    agent = start_agent("--public-key", signer.public, "--sandbox-id", "box-1", "--ttl", "1h")
    before = agent.request("GET", "/v1/activity").json()["lease"]
    token = signer.token(**claims)
    for path, body in (("/v1/lease", {}), ("/v1/lease", {"ttl_ms": 1}), ("/v1/lease", {"ttl_ms": None, "idle_ttl_ms": 1}),
                       ("/v1/init", {}), ("/v1/init", {"ttl_ms": 1, "env": {"A": "b"}})):
        answer = agent.request("POST", path, json=body, token=token)
        # A token whose scope is not a text is not accepted at all.
        answer.problem(*((401, "unauthenticated") if isinstance(claims.get("scope"), list) else (403, "insufficient_scope")))
    assert agent.request("GET", "/v1/activity").json()["lease"] == before
    assert agent.request("POST", "/v1/init", json={}).status == 200  # nobody has
