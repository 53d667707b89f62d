"""Processes are few: a command of another container, or an earlier one, has taken them all."""

import os
import pathlib
import shutil
import stat
import tempfile

import pytest

from agent import Agent, binary
from tools import tool

SOMEBODY = 54321  # who has no other process: RLIMIT_NPROC counts those of a user, and root is exempt (getrlimit(2))

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else"),
              pytest.mark.skipif(bool(os.environ.get("SKIFFD_SANITIZER") or os.environ.get("SKIFFD_WRAPPER")),
                                 reason="sanitizers have threads of their own; a filter is in a directory of root's")]


@pytest.fixture
def start_limited(tmp_path, monkeypatch):
    agents = []

    def start(most):
        folder = tmp_path / f"most-{most}"
        folder.mkdir()
        for place in (pathlib.Path(tempfile.gettempdir()), tmp_path, folder):  # somebody has to get there
            place.chmod(stat.S_IMODE(place.stat().st_mode) | 0o011)
        (folder / "root").mkdir()
        os.chown(folder / "root", SOMEBODY, SOMEBODY)
        monkeypatch.setenv("SKIFFD", shutil.copy(binary(), str(folder)))
        monkeypatch.setenv("SKIFFD_WRAPPER", f"{tool('prlimit')} --nproc={most} --")
        agents.append(Agent(folder, "--allow-unauthenticated", credential=False, user=SOMEBODY, group=SOMEBODY, extra_groups=[]))
        return agents[-1]

    yield start
    for agent in agents:
        agent.finish()


def test_without_a_thread_it_says_why_it_can_not_start(start_limited):
    with pytest.raises(AssertionError, match="(?s)ended with 1 before it listened.*because processes are limited"):
        start_limited(1)


def test_with_no_process_for_a_command_all_else_works(start_limited):
    for most in range(2, 16):
        try:
            agent = start_limited(most)
            break
        except AssertionError:
            pass
    answer = agent.request("PUT", "/v1/files/some.txt", body=b"text")
    assert answer.status == 201, answer
    assert agent.request("GET", "/v1/files:list").json()["items"][0]["name"] == "some.txt"
    for command in ({"argv": ["true"]}, {"command": "true"}):
        done = agent.request("POST", "/v1/commands", json=command)
        assert done.json()["cause"] == "spawn_failed", done.json()
        assert "Resource temporarily unavailable" in done.json()["error"]["message"], done.json()
    assert agent.request("GET", "/healthz").status == 200
