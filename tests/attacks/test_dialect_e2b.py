"""Attacks on the port of the dialect e2b: by a stranger, by a client with a wrong token, by a command with the agent's uid."""

import gzip
import hashlib
import os
import socket
import struct
import threading

import pytest

import proc
from e2b import STREAM, UNARY, client, collected, encoded, envelope, pid_of, signature, start_client  # noqa: F401
from waiting import until

TOKEN = "e2b-token-of-the-tests"
DIGEST = hashlib.sha256(TOKEN.encode()).hexdigest()
OCTETS = {"Content-Type": "application/octet-stream"}


@pytest.fixture
def closed(start_client):  # noqa: F811
    return start_client("--e2b-token-sha256", DIGEST, headers={"X-Access-Token": TOKEN})


def raw(path, headers, body=b""):
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in {"Host": "x", **headers}.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def test_no_route_but_health_answers_without_the_token(closed):
    before = closed.agent.request("GET", "/v1/commands").json()["items"]
    start = envelope({"process": {"cmd": "/bin/true"}})
    for path in ("Start", "Connect", "StreamInput"):
        assert closed.door.request("POST", f"/process.Process/{path}", body=start, headers=STREAM).status == 401
    for service, methods in (("process.Process", "List Update SendInput SendSignal CloseStdin"),
                             ("filesystem.Filesystem", "Stat MakeDir Move ListDir Remove CreateWatcher GetWatcherEvents RemoveWatcher")):
        for method in methods.split():
            answer = closed.door.request("POST", f"/{service}/{method}", json={}, headers=UNARY)
            assert answer.status == 401, method
    for method, path in (("GET", "/metrics"), ("GET", "/envs"), ("GET", "/files?path=x"), ("POST", "/files?path=x"), ("POST", "/init")):
        assert closed.door.request(method, path, body=b"{}" if method == "POST" else None, headers=OCTETS).status == 401
    assert closed.agent.request("GET", "/v1/commands").json()["items"] == before


def test_a_request_with_two_access_tokens_is_refused(closed):
    request = raw("/process.Process/List", {**UNARY, "Content-Length": 2, "Connection": "close"}, b"{}")
    both = request.replace(b"Host: x", f"Host: x\r\nX-Access-Token: {TOKEN}\r\nX-Access-Token: wrong".encode())
    assert closed.door.exchange(both).startswith(b"HTTP/1.1 401")


def test_the_token_is_neither_shown_nor_inherited(closed):
    ran = closed.run("env; cat /proc/$PPID/environ; cat /proc/$PPID/cmdline")
    assert TOKEN.encode() not in ran.out + ran.err
    assert TOKEN not in closed.agent.log()
    answer = closed.door.request("GET", "/envs", headers={"X-Access-Token": "guess-of-a-token"})
    assert answer.status == 401 and b"guess" not in answer.body


def test_a_command_can_not_take_the_door_over_by_init(closed):
    """One of the agent's own uid reaches the port as everybody on the machine does."""
    assert closed.door.request("POST", "/init", json={"accessToken": "mine"}).status == 401
    assert closed.door.request("POST", "/init", json={"accessToken": "mine"}, headers={"X-Access-Token": "mine"}).status == 401
    assert closed.unary("process.Process/List", {}) == {"processes": []}


def test_strangers_make_room_for_those_who_have_the_token(start_client):  # noqa: F811
    client = start_client("--e2b-token-sha256", DIGEST, "--max-connections", "4", headers={"X-Access-Token": TOKEN})
    strangers = [client.door.connect() for _ in range(80)]
    try:
        for one in strangers:
            one.sendall(raw("/process.Process/Start", {**STREAM, "Content-Length": 1000}))
        assert client.run("echo in").out == b"in\n"
    finally:
        for one in strangers:
            one.close()


def test_forged_signatures_are_refused(closed):
    (closed.agent.root / "f").write_text("secret")
    closed.unary("process.Process/List", {})
    good = signature("f", "read", "", TOKEN)
    for made_up in ("", "v1_", "v1_" + "A" * 43, good[:-1], good + "=", good.lower(), good.replace("v1", "v2"), signature("f", "read", "", "")):
        assert closed.door.request("GET", f"/files?path=f&signature={made_up.replace('+', '%2B')}").status == 401, made_up
    # The first path counts, for the signature and for the file.
    (closed.agent.root / "g").write_text("public")
    for_g = signature("g", "read", "", TOKEN).replace("+", "%2B")
    assert closed.door.request("GET", f"/files?path=g&path=f&signature={for_g}").body == b"public"
    assert closed.door.request("GET", f"/files?path=f&path=g&signature={for_g}").status == 401


def test_links_lead_nowhere(client, tmp_path):  # noqa: F811
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("secret")
    os.symlink(tmp_path / "outside", client.agent.root / "link")
    for method, message in (("Stat", {"path": "link/secret"}), ("ListDir", {"path": "link"}), ("MakeDir", {"path": "link/d"}),
                            ("Move", {"source": "link/secret", "destination": "s"}), ("Remove", {"path": "link/secret"}),
                            ("CreateWatcher", {"path": "link"})):
        assert client.unary(f"filesystem.Filesystem/{method}", message, 403) == "permission_denied", method
    client.unary("filesystem.Filesystem/Remove", {"path": "link"})
    assert os.listdir(tmp_path / "outside") == ["secret"] and (tmp_path / "outside/secret").read_text() == "secret"


def test_an_envelope_that_promises_much_gets_nothing(client):  # noqa: F811
    before = proc.rss_bytes(client.agent.pid)
    sockets = []
    for _ in range(20):
        sock = client.door.connect()
        sock.sendall(raw("/process.Process/Start", {**STREAM, "Content-Length": 0x7fffffff}, struct.pack(">BI", 0, 0xfffff) + b"x"))
        sockets.append(sock)
    assert client.run("true").end["exitCode"] == 0
    assert proc.rss_bytes(client.agent.pid) - before < proc.allowance(8 * 1024 * 1024)
    for sock in sockets:
        sock.close()


def test_a_gzip_bomb_takes_no_memory_and_ends_with_its_client(client):  # noqa: F811
    before = proc.rss_bytes(client.agent.pid)
    bomb = gzip.compress(bytes(64 << 20)) * 4
    headers = {**OCTETS, "Content-Encoding": "gzip"}
    assert client.door.request("POST", "/files?path=big", body=bomb, headers=headers).status == 200
    assert (client.agent.root / "big").stat().st_size == 256 << 20
    with client.door.connect() as sock:
        sock.sendall(raw("/files?path=cut", {**headers, "Content-Length": len(bomb) + 1}, bomb))
        assert client.run("echo on").out == b"on\n"
    until(lambda: os.listdir(client.agent.root) == ["big"], what="the end of what was cut")
    # A window of 2 GiB in the clothes of gzip (RFC 8878, 3.1.1.1).
    window = b"\x28\xb5\x2f\xfd\x00\xa8" + b"\x02\x00\x00x" * 1000
    answer = client.door.request("POST", "/files?path=window", body=window, headers=headers)
    assert 400 <= answer.status < 500, answer
    assert proc.rss_bytes(client.agent.pid) - before < proc.allowance(32 << 20)
    assert os.listdir(client.agent.root) == ["big"]


@pytest.mark.parametrize("flags", [1, 2, 3, 0x80, 0xff])
def test_an_envelope_with_flags_starts_nothing(client, flags):  # noqa: F811
    """1 would be packed, 2 the end of a stream, which is for servers."""
    body = envelope(gzip.compress(b'{"process":{"cmd":"/bin/touch","args":["packed"]}}') if flags & 1 else
                    {"process": {"cmd": "/bin/touch", "args": ["packed"]}}, flags)
    answer = client.door.request("POST", "/process.Process/Start", body=body, headers=STREAM)
    assert answer.status == 200 and b'"error"' in answer.body and b'"start"' not in answer.body, answer
    assert not (client.agent.root / "packed").exists()


def test_watchers_are_bounded(client):  # noqa: F811
    (client.agent.root / "w").mkdir()
    made = [client.unary("filesystem.Filesystem/CreateWatcher", {"path": "w"}) for _ in range(64)]
    assert client.unary("filesystem.Filesystem/CreateWatcher", {"path": "w"}, 429) == "resource_exhausted"
    for one in made:
        client.unary("filesystem.Filesystem/RemoveWatcher", one)
    client.unary("filesystem.Filesystem/Remove", {"path": "w"})


def test_a_list_of_more_than_fits_is_refused(client):  # noqa: F811
    for d in range(26):
        (client.agent.root / f"d{d}").mkdir()
    assert client.run("for d in d*; do (cd $d && seq 2000 | xargs touch); done").end["exitCode"] == 0
    assert client.unary("filesystem.Filesystem/ListDir", {"path": ".", "depth": 4_294_967_295}, 429) == "resource_exhausted"
    assert len(client.unary("filesystem.Filesystem/ListDir", {"path": "d0", "depth": 9})["entries"]) == 2000


def test_many_clients_of_one_process_get_the_same(client):  # noqa: F811
    with client.start("read a; seq 1 20000", stdin=True) as events:
        pid = pid_of(events)
        digests = []

        def read():
            with client.connect(pid) as again:
                digests.append(hashlib.sha256(collected(again).out).hexdigest())

        readers = [threading.Thread(target=read) for _ in range(30)]
        for one in readers:
            one.start()
        client.unary("process.Process/SendInput", {"process": {"pid": pid}, "input": {"stdin": encoded(b"\n")}})
        own = hashlib.sha256(collected(events).out).hexdigest()
        for one in readers:
            one.join()
        assert digests == [own] * 30


def test_a_client_that_breaks_off_leaves_nothing(client):  # noqa: F811
    for _ in range(20):
        with client.door.connect() as sock:
            body = envelope({"process": {"cmd": "/bin/sh", "args": ["-c", "yes"]}, "stdin": False})
            sock.sendall(raw("/process.Process/Start", {**STREAM, "Content-Length": len(body)}, body))
            sock.recv(1000)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    for one in client.unary("process.Process/List", {})["processes"]:
        client.unary("process.Process/SendSignal", {"process": {"pid": one["pid"]}, "signal": "SIGNAL_SIGKILL"})
    until(lambda: client.unary("process.Process/List", {})["processes"] == [])
