"""A file system that hangs holds up those who ask for its files, and nobody else."""

import concurrent.futures
import contextlib
import json

import pytest

import proc
from hanging_files import CONTENT, HangingFiles
from waiting import until, until_still
from wire import request_bytes

HELD = "/v1/files/net/held"
LARGE = "/v1/files/net/large"
BY_HASH = '"h-' + "0" * 64 + '"'


@pytest.fixture
def net(tmp_path):
    with HangingFiles("root/net") as net:
        yield net


@pytest.fixture
def agent(net, start_agent):
    agent = start_agent("--disk-threads", "2", wrapper=net.wrapper, pass_fds=(net.device,))
    if agent.request("GET", "/v1/files/net/free").body != CONTENT:
        pytest.fail("the file system does not work")
    yield agent
    net.let_go()


def ask_and_go(agent):
    """Asks for the file that hangs and goes away."""
    with agent.connect() as sock:
        sock.sendall(request_bytes("GET", HELD, agent.headers()))


def copy(agent, name, to):
    return agent.request("POST", "/v1/files:copy", json={"from": f"net/{name}", "to": to})


def all_else_works(agent):
    assert agent.request("GET", "/healthz").status == 200
    assert agent.run("echo on")["stdout"] == "on\n"
    status = 200 if (agent.root / "other").exists() else 201
    assert agent.request("PUT", "/v1/files/other", body=b"x").status == status
    assert agent.request("GET", "/v1/files/other").body == b"x"
    assert agent.request("GET", "/v1/files:list").status == 200
    sid = agent.session(shell={"stateful": True})
    assert agent.run("A=1; cd /", session=sid)["state_saved"] == "saved"
    assert agent.run("echo $A; pwd", session=sid)["stdout"] == "1\n/\n"
    assert agent.request("DELETE", f"/v1/sessions/{sid}").status == 204


def test_while_a_file_hangs_all_else_works(agent, net):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        asked = pool.submit(agent.request, "GET", HELD)
        net.until_held(1)
        all_else_works(agent)
        assert not asked.done()
        net.let_go()
        assert asked.result(30).body == CONTENT


def test_a_command_that_hangs_there_holds_nobody_up_and_can_be_killed(agent, net):
    cids = [agent.start("exec cat net/held")["id"] for _ in range(8)]
    net.until_held(8)
    all_else_works(agent)
    for cid in cids:
        assert agent.request("DELETE", f"/v1/commands/{cid}").status == 204


def test_the_thread_of_a_client_that_left_is_free_once_its_call_returns(agent, net):
    """All threads for files hang: the next request for a file waits for its turn, and no other request does."""
    for _ in range(2):
        ask_and_go(agent)
    net.until_held(2)
    assert agent.request("GET", "/healthz").status == 200
    assert agent.run("echo on")["stdout"] == "on\n"
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        next_ = pool.submit(agent.request, "PUT", "/v1/files/new", body=b"x")
        net.let_go()
        assert next_.result(30).status == 201
    all_else_works(agent)


def test_while_copies_hang_all_else_works(agent, net):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(copy, agent, "held", f"copy{number}") for number in range(8)]
        net.until_held(2)
        all_else_works(agent)
        # Not all of them are served at once.
        until(lambda: net.let_go() or all(one.done() for one in asked), what="the end of the copies")
        assert [one.result().status for one in asked] == [201] * 8


def test_requests_that_wait_for_a_name_hold_up_no_others(agent, net):
    def put():
        return agent.request("PUT", "/v1/files/copy", body=b"x")

    with concurrent.futures.ThreadPoolExecutor(9) as pool:
        copied = pool.submit(copy, agent, "held", "copy")
        net.until_held(1)
        waiting = [pool.submit(put) for _ in range(8)]
        until(lambda: proc.thread_names(agent.pid).count("skiff-disk") >= 8, what="all who wait")
        all_else_works(agent)
        assert not any(one.done() for one in (copied, *waiting))
        net.let_go()
        assert copied.result(30).status == 201
        assert {one.result(30).status for one in waiting} == {200}


HASHED = {  # what If-Match makes long, by the file's name
    "put": lambda name: ("PUT", f"/v1/files/net/{name}", b"new"),
    "append": lambda name: ("PATCH", f"/v1/files/net/{name}?append=true", b"new"),
    "edit": lambda name: ("PATCH", f"/v1/files/net/{name}", {"edits": [{"old": "a", "new": "b"}]}),
    "delete": lambda name: ("DELETE", f"/v1/files/net/{name}", b""),
    "chmod": lambda name: ("POST", "/v1/files:chmod", {"path": f"net/{name}", "mode": "0600"}),
}


def ask(agent, method, path, body, **fields):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    sock = agent.connect()
    sock.sendall(request_bytes(method, path, agent.headers({
        "Content-Type": "application/json", "Content-Length": str(len(data)), **fields}), data))
    return sock


@pytest.mark.parametrize("method, path, body, fields", [
    ("POST", "/v1/files:copy", {"from": "net/endless", "to": "copy"}, {}),
    ("GET", "/v1/files/net/endless?lines=5-6", b"", {}),
    ("GET", "/v1/files:grep?pattern=needle&path=net/endless", b"", {}),
    ("GET", LARGE, b"", {"If-None-Match": BY_HASH}),
    ("POST", "/v1/files:move", {"from": "net/large", "to": "copy"}, {"If-Match": BY_HASH}),
    ("POST", "/v1/files:batch", {"operations": [{"op": "write", "path": "net/large", "content": "", "if_match": BY_HASH}]}, {}),
    *((*asked("large"), {"If-Match": BY_HASH}) for asked in HASHED.values()),
], ids=["copy", "lines", "grep", "unchanged", "move", "batch", *HASHED])
def test_long_work_ends_soon_after_its_client_has_left(agent, net, method, path, body, fields):
    with ask(agent, method, path, body, **fields):
        until(lambda: net.pieces > 1000, what="work that goes on")
    until_still(lambda: net.pieces, same=20, seconds=15)
    until(lambda: not [name for name in agent.root.iterdir() if name.name != "net"], what="the end of what was begun")
    assert agent.request("GET", "/v1/files:stat?path=copy").json()["items"][0]["error"]["code"] == "path_not_found"


# The unread part of its body hides that its client has left: the agent hashes it to its end.
HASHED["put-large"] = lambda name: ("PUT", f"/v1/files/net/{name}", b"new" * 100_000)


@pytest.mark.parametrize("what", HASHED)
def test_conditions_that_hash_hold_nobody_up(agent, net, what):
    with contextlib.ExitStack() as held:
        for name in ("large", "larger"):
            before = net.pieces
            held.enter_context(ask(agent, *HASHED[what](name), **{"If-Match": BY_HASH}))
            until(lambda: net.pieces > before + 1000, what="a hash that goes on")
        all_else_works(agent)


def test_the_agent_stops_while_a_file_hangs(agent, net):
    ask_and_go(agent)
    net.until_held(1)
    assert agent.terminate() == 143


@pytest.mark.parametrize("what", [{"command": "true"}, {"argv": ["true"]}], ids=["line", "program"])
def test_a_working_directory_that_hangs_holds_nobody_up(agent, net, what):
    for _ in range(3):
        agent.run(**what)  # from here on it is known to start quickly
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        asked = pool.submit(agent.request, "POST", "/v1/commands", json={**what, "cwd": "net/hung"})
        net.until_held(1)
        all_else_works(agent)
        net.let_go()
        assert asked.result(30).json()["cause"] == "spawn_failed"


def test_a_session_whose_root_hangs_holds_nobody_up(agent, net):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        asked = pool.submit(agent.request, "POST", "/v1/sessions", json={"root": "net/hung"})
        net.until_held(1)
        all_else_works(agent)
        net.let_go()
        assert asked.result(30).status != 201


def test_a_command_is_ended_while_all_threads_for_files_hang(agent, net):
    cid = agent.start(argv=["sleep", "300"])["id"]
    for _ in range(2):
        ask_and_go(agent)
    net.until_held(2)
    assert agent.request("GET", f"/v1/commands/{cid}").json()["state"] == "running"
    assert agent.request("GET", "/v1/sessions/default/processes").json()["items"][0]["name"] == "sleep"
    assert agent.request("DELETE", f"/v1/commands/{cid}").status == 204


def test_a_cgroup_that_hangs_holds_nobody_up(net, start_agent):
    agent = start_agent("--cgroup", "root/net", wrapper=net.wrapper, pass_fds=(net.device,))
    assert "pids" in agent.request("GET", "/v1/capabilities").json()["command_limits"]
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        asked = pool.submit(agent.run, "true", limits={"pids": 9})
        net.until_held(1)
        all_else_works(agent)
        net.let_go()
        result = asked.result(30)
    assert (result["cause"], result["error"]["stage"]) == ("spawn_failed", "cgroup")


@pytest.mark.parametrize("file, line, said, cause", [
    ("memory.peak", "exit 3", b"4096", "exited"),
    ("memory.events", "kill -9 $$", b"oom_kill 1", "oom"),
    ("cgroup.kill", "sleep 1000", None, "timeout"),
], ids=["peak", "events", "kill"])
def test_a_file_of_a_commands_cgroup_that_hangs_holds_nobody_up(start_agent, tmp_path, file, line, said, cause):
    """A FIFO in its place: who opens it waits for the other side."""
    home = tmp_path / "cgroup"
    home.mkdir()
    (home / "cgroup.controllers").write_text("memory pids cpu\n")
    agent = start_agent("--cgroup", home)
    cid = agent.start(f"cd skiff-* && mkfifo {file} && {line}", cwd=str(home), limits={"pids": 50}, timeout_ms=1000, kill_grace_ms=0)["id"]
    pid = agent.request("GET", f"/v1/commands/{cid}").json()["pid"]
    until(lambda: not proc.alive(pid), what="the end of its leader")
    all_else_works(agent)
    assert agent.request("GET", f"/v1/commands/{cid}").json()["state"] == "running"
    [fifo] = home.glob(f"skiff-*/{file}")
    if said:
        fifo.write_bytes(said)
    else:
        assert fifo.read_bytes() == b"1"
    assert agent.ended(cid)["cause"] == cause
