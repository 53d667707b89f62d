"""Unmodified clients against a real skiffd that speaks python-runtime."""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

from client_fixtures import *  # noqa: E402,F403
from client_fixtures import run_cases  # noqa: E402
from dialect import Door  # noqa: E402
from fake_kubernetes import FakeKubernetes  # noqa: E402
from installed import go_directory, python_of  # noqa: E402


@pytest.fixture
def outcome(tmp_path, start_agent):
    """Runs a client's cases, with `url` at what stands in front of the agent: {name: None, or how it failed}."""
    fakes = []

    def run(*command, url=None, sandbox="", **variables):
        fake = FakeKubernetes(tmp_path, pod_ip="" if url else "10.0.0.9", sandbox=sandbox)
        fakes.append(fake)
        agent = start_agent("--dialect", "python-runtime=127.0.0.1:0")
        door = Door(agent)
        return run_cases(command, HERE, KUBECONFIG=str(fake.kubeconfig), RUNTIME_URL=url or door.url,
                         RUNTIME_PORT=str(door.port), HOME=str(tmp_path), RUNTIME_ROOT=os.path.realpath(agent.root),
                         PYTHONPATH=str(HERE.parent.parent / "integration"), **variables)

    yield run
    for fake in fakes:
        fake.close()


@pytest.fixture
def router(tmp_path):
    """The address of the router of agent-sandbox, with every sandbox on this machine."""
    place = go_directory(HERE / "go", "sigs.k8s.io/agent-sandbox") / "clients/python/agentic-sandbox-client/sandbox-router"
    command = [python_of(HERE / "router.txt"), HERE / "router.py"]
    variables = {"ROUTER": str(place), "ALLOW_UNAUTHENTICATED_ROUTER": "true", "PYTHONDONTWRITEBYTECODE": "1"}
    with open(tmp_path / "router.log", "wb") as log, subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=log, text=True, env={**os.environ, **variables}) as process:
        try:
            port = process.stdout.readline().strip()
            assert port, (tmp_path / "router.log").read_text()
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()
