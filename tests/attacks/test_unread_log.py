"""The agent's log is a pipe that its reader does not read."""

import http.client
import os
import re

import pytest

from waiting import until

MORE_THAN_WAITS = 6000  # lines of 260 bytes and more: 1 MiB waits, a pipe takes 64 KiB


@pytest.fixture
def unread(tmp_path):
    """The path of a pipe that has a reader who reads nothing, and the reader's descriptor."""
    path = tmp_path / "log"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    yield path, reader
    os.close(reader)


def start(start_agent, path):
    return start_agent(wrapper=["sh", "-c", f'exec "$@" 2>{path}', "sh"])


def ask(agent, times):
    """One line of the access log each."""
    client = http.client.HTTPConnection("127.0.0.1", agent.port, timeout=30)
    for number in range(times):
        client.request("GET", "/v1/version", headers={**agent.headers(), "X-Request-Id": f"{number:0100}"})
        response = client.getresponse()
        response.read()
        assert response.status == 200
    client.close()


def lost(agent):
    text = agent.request("GET", "/metrics").text
    return int(re.search(r"^skiff_log_lost_total (\d+)$", text, re.MULTILINE).group(1))


def test_the_agent_serves_and_ends_as_always(start_agent, unread):
    agent = start(start_agent, unread[0])
    ask(agent, 1000)
    assert agent.run("echo on")["stdout"] == "on\n"
    assert agent.terminate() == 143


def test_lost_log_lines_are_counted_and_reported(start_agent, unread):
    path, reader = unread
    agent = start(start_agent, path)
    ask(agent, MORE_THAN_WAITS)
    assert lost(agent) > 0

    text = ""

    def told():
        nonlocal text
        try:
            text += os.read(reader, 1 << 20).decode()
        except BlockingIOError:
            pass
        return re.search(r'"message":"log lines were lost","lines":(\d+)', text)

    assert int(until(told, what="a line about the lost ones").group(1)) > 0
    assert lost(agent) == int(told().group(1))
