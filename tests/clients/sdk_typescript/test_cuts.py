"""Connections that are cut at random: ten seconds in the gate, ten minutes at night."""

import json
import os
import subprocess

import pytest

import installed
from client_fixtures import run_program
from cutting_proxy import CuttingProxy
from random_cuts import SECONDS, RandomCuts, chosen_seed


def cut(package, seed, port, tmp_path, **variables):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SKIFF")}
    with RandomCuts(("127.0.0.1", port), seed) as proxy:
        environment = {**kept, "HOME": str(tmp_path), "NODE_DISABLE_COMPILE_CACHE": "1", "SECONDS": str(SECONDS),
                       "SKIFF_URL": proxy.url, **variables}
        done = subprocess.run([installed.node(), "cuts.mjs"], cwd=package, env=environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=SECONDS + 600)
    assert done.returncode == 0, done.stderr[-4000:]
    told = [json.loads(line) for line in done.stdout.splitlines()]
    work = ", ".join(f"{one['case']} {one['done']}" for one in told)
    print(f"seed {seed}: {proxy.cuts} cuts in {SECONDS} s; {work}")
    failures = "\n".join(f"{one['case']}: {one['failure']}" for one in told if one["failure"])
    assert not failures, f"seed {seed}, {proxy.cuts} cuts:\n{failures}"
    assert len(told) == 8 and proxy.cuts > 0


class ChangingTarget(CuttingProxy):
    """Leads to one agent until a connection was cut, then to another. A client has as many connections as it likes."""

    def __init__(self, agents, cut):
        self.agents = agents
        super().__init__(None, [cut] * 8)

    @property
    def target(self):
        return ("127.0.0.1", self.agents[1 if self.done else 0].port)

    @target.setter
    def target(self, _):
        pass


def test_a_command_does_not_run_again_at_an_agent_that_was_restarted(package, start_agent, tmp_path):
    agents = [start_agent(token="the-same"), start_agent(token="the-same")]
    with ChangingTarget(agents, cut=8_000) as proxy:
        done = run_program([installed.node(), "restarted.mjs"], package,
                           {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "SKIFF_URL": proxy.url, "SKIFF_TOKEN": "the-same"})
    assert done.stdout == "instance_changed\n", done.stderr
    assert (agents[0].root / "ran").exists() and not (agents[1].root / "ran").exists()


def test_an_edit_is_not_repeated_when_its_answer_is_lost(package, agent, tmp_path):
    with CuttingProxy(("127.0.0.1", agent.port), [4_000] * 4) as proxy:
        done = run_program([installed.node(), "edited.mjs"], package,
                           {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "SKIFF_URL": proxy.url, "SKIFF_TOKEN": agent.token,
                            "DIRECT_URL": agent.url})
    assert done.stdout == "connection_failed 800\n", done.stderr


@pytest.fixture
def seed():
    return chosen_seed()


def test_nothing_is_lost_or_done_twice_at_an_agent(package, agent, seed, tmp_path):
    cut(package, seed, agent.port, tmp_path, SKIFF_TOKEN=agent.token, DIRECT_URL=agent.url)


def test_nothing_is_lost_or_done_twice_at_a_server(package, server, key, seed, tmp_path):
    port = int(server.url.rpartition(":")[2])
    cut(package, seed, port, tmp_path, SKIFF_API_KEY=key, DIRECT_URL=server.url)
    assert server.request("GET", "/v1/sandboxes", key=key).json()["items"] == []
