"""A file system that hangs holds up those who ask for its files, and nobody else."""

import concurrent.futures

import pytest

from hanging_files import CONTENT, HangingFiles
from wire import request_bytes

HELD = "/v1/files/net/held"


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


def all_else_works(agent):
    assert agent.request("GET", "/healthz").status == 200
    assert agent.run("echo on")["stdout"] == "on\n"
    assert agent.request("PUT", "/v1/files/other", body=b"x").status in (200, 201)
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


def test_who_went_away_gives_its_place_back_once_the_call_returns(agent, net):
    """As many as there are threads for files: the next file waits for its turn, and nothing else does."""
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


def test_the_agent_stops_while_a_file_hangs(agent, net):
    ask_and_go(agent)
    net.until_held(1)
    assert agent.terminate() == 0
