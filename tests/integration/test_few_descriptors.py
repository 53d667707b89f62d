"""No descriptor is left: each thing that needs one says so, whoever is connected is served, and all is well afterwards."""

import contextlib
import json as jsonlib
import os

import pytest

import proc
from confined import with_descriptors, with_inotify
from waiting import until
from wire import request_bytes

ALL = 96


class Kept:
    """A connection that is kept: each request goes over it."""

    def __init__(self, agent):
        self.agent = agent
        self.stream = agent.stream("GET", "/v1/version")
        assert self.stream.answer().status == 200

    def request(self, method, path, json=None, body=b""):
        headers = self.agent.headers({"Content-Type": "application/json"} if json is not None else {})
        body = jsonlib.dumps(json).encode() if json is not None else body
        self.stream.sock.sendall(request_bytes(method, path, {**headers, "Content-Length": str(len(body))}, body))
        self.stream.next_response()
        return self.stream.answer()

    def commands_until_there_are_no_more(self):
        started = []
        while True:
            answer = self.request("POST", "/v1/commands", json={"argv": ["sleep", "300"], "mode": "background"})
            assert answer.status == 202, answer
            if answer.json()["state"] == "ended":
                return started
            started.append(answer.json()["id"])


def is_served(agent, sock):
    """Whether a new connection gets an answer, and not its end."""
    with contextlib.suppress(ConnectionError):
        sock.sendall(request_bytes("GET", "/v1/version", agent.headers()))
        return sock.recv(1) != b""
    return False


def connections_until_there_are_no_more(agent, held):
    open_ = []
    while is_served(agent, sock := held.enter_context(agent.connect())):
        open_.append(sock)
    return open_


@pytest.fixture
def agent(start_agent):
    agent = start_agent(wrapper=with_descriptors(ALL))
    agent.request("PUT", "/v1/files/f", body=b"here")
    (agent.root / "d").mkdir()
    return agent


COMMANDS = {"plain": {}, "with one output": {"output": {"merge_stderr": True}}, "with input": {"stdin": "x"},
            "on a terminal": {"tty": {"cols": 80, "rows": 24}}}
FILES = {
    "read": ("GET", "/v1/files/f"), "written": ("PUT", "/v1/files/new"), "listed": ("GET", "/v1/files:list"),
    "packed": ("GET", "/v1/files:archive?path=d"), "watched": ("GET", "/v1/files:watch?path=d"),
    "removed": ("DELETE", "/v1/files/d?recursive=true"),
}


def test_at_the_limit_each_request_says_so_and_afterwards_all_is_well(agent):
    with contextlib.ExitStack() as held:
        kept = Kept(agent)
        held.enter_context(kept.stream)
        socket_ = held.enter_context(agent.ws("/v1/connect"))
        started = kept.commands_until_there_are_no_more()
        connections_until_there_are_no_more(agent, held)

        assert kept.request("GET", "/healthz").status == 200
        for kind, fields in COMMANDS.items():
            done = kept.request("POST", "/v1/commands", json={"argv": ["true"], **fields})
            assert done.status == 200, (kind, done)
            assert (done.json()["cause"], done.json()["exit_code"]) == ("spawn_failed", 126), kind
            assert done.json()["error"]["errno"] == "EMFILE", (kind, done.json())
        for kind, (method, path) in FILES.items():
            assert kept.request(method, path, body=b"x" if method == "PUT" else b"").problem(
                503, "resource_exhausted"), kind
        socket_.send({"type": "start", "channel": 1, "argv": ["true"]})
        assert socket_.until("exit", channel=1)[-1]["cause"] == "spawn_failed"
        socket_.ping()
        assert not is_served(agent, held.enter_context(agent.connect()))  # and it is not left waiting
        assert all(kept.request("GET", f"/v1/commands/{cid}").json()["state"] == "running" for cid in started)

        for cid in started:
            assert kept.request("DELETE", f"/v1/commands/{cid}").status == 204
        # The agent first turns away the connections that wait in its queue.
        until(lambda: served_now(agent), what="a connection that is served")
        assert agent.request("GET", "/v1/files/f").body == b"here"
    assert agent.run("echo well")["stdout"] == "well\n"


def served_now(agent):
    with agent.connect() as sock:
        return is_served(agent, sock)


def test_a_command_has_all_of_its_streams_or_does_not_start(agent, start_agent):
    """Whichever of its descriptors is the one too many."""
    if not proc.descriptors(agent.pid):
        pytest.skip("only root can count the agent's descriptors")
    # It takes fewer connections than it has descriptors for: others hold those.
    with contextlib.ExitStack() as inherited:
        others = [inherited.enter_context(open(os.devnull)).fileno() for _ in range(ALL - 32)]
        agent = start_agent(wrapper=with_descriptors(ALL), pass_fds=others)
    says = {"argv": ["sh", "-c", "echo out; echo err >&2"]}
    with contextlib.ExitStack() as held:
        kept = Kept(agent)
        held.enter_context(kept.stream)
        idle = connections_until_there_are_no_more(agent, held)
        left = dict(COMMANDS)
        while left:
            for kind, fields in list(left.items()):
                done = kept.request("POST", "/v1/commands", json={**says, **fields}).json()
                if done["cause"] == "exited":
                    assert sorted((done["stdout"] + done["stderr"]).split()) == ["err", "out"], (kind, done)
                    del left[kind]
                else:
                    assert (done["cause"], done["error"]["errno"]) == ("spawn_failed", "EMFILE"), (kind, done)
            before = agent.descriptor_count()
            idle.pop().close()
            until(lambda: agent.descriptor_count() < before, what="one more descriptor")


def test_connections_without_a_credential_make_room(agent):
    cid = agent.start("exec sleep 300")["id"]
    with contextlib.ExitStack() as held:
        for _ in range(2 * ALL):
            held.enter_context(agent.connect())
        assert agent.request("GET", "/healthz").status == 200
        assert agent.request("DELETE", f"/v1/commands/{cid}").status == 204


def test_without_an_inotify_instance_a_watch_is_refused_and_all_else_works(start_agent):
    agent = start_agent(wrapper=with_inotify(instances=0))
    refused = agent.request("GET", "/v1/files:watch").problem(503, "resource_exhausted")
    assert "max_user_instances" in refused["detail"]
    assert agent.run("echo well")["stdout"] == "well\n"


def test_a_tree_that_takes_more_watches_than_there_are_is_refused(start_agent):
    agent = start_agent(wrapper=with_inotify(watches=5))
    for number in range(10):
        (agent.root / f"tree/{number}").mkdir(parents=True)
    refused = agent.request("GET", "/v1/files:watch?path=tree&recursive=true").problem(503, "resource_exhausted")
    assert "max_user_watches" in refused["detail"]
    with agent.stream("GET", "/v1/files:watch?path=tree/0") as stream:
        assert stream.status == 200  # this takes two
    agent.run("rm -r tree")


def test_a_directory_that_no_watch_is_left_for_is_reported_as_an_overflow(start_agent):
    agent = start_agent(wrapper=with_inotify(watches=3))
    (agent.root / "tree").mkdir()
    with agent.ws("/v1/files:watch?path=tree&recursive=true") as socket_:
        assert socket_.recv()["type"] == "watching"
        agent.run("mkdir tree/a tree/b tree/c")
        seen = socket_.until("overflow")
        assert seen[-1]["path"].startswith("tree/")
        agent.run("rm -r tree")
