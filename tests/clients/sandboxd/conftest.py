"""Unmodified clients against a real skiffd that speaks sandboxd. What their cases have in common with those of python-runtime's
clients is there."""

import os
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
CASES = HERE.parent / "python_runtime"
sys.path[:0] = [str(HERE.parent), str(CASES)]

from client_fixtures import *  # noqa: E402,F403
from client_fixtures import run_cases  # noqa: E402
from dialect import Door  # noqa: E402
from fake_kubernetes import FakeKubernetes  # noqa: E402


@pytest.fixture
def doors(start_agent):
    """(REST, gRPC) of an agent."""
    agent = start_agent("--dialect", "sandboxd=127.0.0.1:0,127.0.0.1:0")
    return Door(agent), Door(agent)


@pytest.fixture
def outcome(tmp_path, doors):
    """Runs a client's cases: {name: None, or how it failed}."""
    fake = FakeKubernetes(tmp_path, pod_ip="127.0.0.1")
    rest, grpc = doors
    kubectl = tmp_path / "bin/kubectl"
    kubectl.parent.mkdir()
    kubectl.write_text(f'#!/bin/sh\nexec {sys.executable} {HERE / "fake_kubectl.py"} "$@"\n')
    kubectl.chmod(0o755)

    def run(*command):
        return run_cases(command, HERE, KUBECONFIG=str(fake.kubeconfig), RUNTIME_REST=str(rest.port), RUNTIME_GRPC=grpc.host,
                         RUNTIME_ROOT=os.path.realpath(rest.agent.root), HOME=str(tmp_path), PYTHONPATH=str(CASES),
                         PATH=f"{kubectl.parent}:{os.environ['PATH']}")

    yield run
    fake.close()
