"""The adapters of the Python SDK keep the promises of their systems, run the code of these systems' documents, and have whole types."""

import os
import pathlib
import re
import subprocess

import pytest
from client_fixtures import check, run_program
from installed import all_versions, python_of

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = HERE.parents[2] / "sdk/python"
ADAPTERS = PACKAGE / "skiff_sandbox/integrations"


def test_a_backend_for_deepagents(outcome):
    check(outcome("backend.py"), 15)


def test_a_backend_whose_connection_breaks(outcome):
    check(outcome("backend_cut.py", cuts=[0, 60, 0, 200]), 2)


def test_a_client_of_sessions(outcome):
    check(outcome("session_client.py"), 12)


def test_a_stream_whose_connection_breaks(outcome):
    check(outcome("session_client_cut.py", cuts=[100_000, 1, 300_001]), 1)


def test_the_documented_calls_of_the_client(outcome):
    check(outcome("documented_session.py"), 2)


@pytest.mark.parametrize("adapter", [path.name for path in ADAPTERS.glob("[a-z]*.py")])
def test_an_adapter_stays_short(adapter):
    assert len((ADAPTERS / adapter).read_text().splitlines()) <= 300


# The adapters by the packages that they need. Those of GATE are in the gate.
GATE = HERE.parent / "python_runtime/oldest.txt"
OPENAI, OLDER_OPENAI = (HERE.parent / f"quick_starts/{name}.txt" for name in ("openai_agents", "openai_agents_older"))
NEEDED = {GATE: ("deepagents", "kubebox", "langchain", "orbiter"), HERE / "inspect.txt": ("inspect_ai",),
          HERE / "smolagents.txt": ("smolagents",), HERE / "swe_rex.txt": ("swerex",), OPENAI: ("openai_agents", "_openai_processes"),
          OLDER_OPENAI: ("openai_agents", "_openai_processes")}


def at_night(requirements, *gate):
    if requirements not in (GATE, *gate) and not all_versions():
        pytest.skip("at night")


def test_tools_for_langchain(outcome):
    check(outcome("langchain_tools.py"), 3)


def test_an_executor_for_smolagents(outcome):
    at_night(HERE / "smolagents.txt")
    check(outcome("smolagents_executor.py", requirements=HERE / "smolagents.txt"), 4)


@pytest.mark.parametrize("requirements", [OPENAI, OLDER_OPENAI], ids=lambda path: path.stem)
def test_a_client_for_openai_agents(outcome, requirements):
    at_night(requirements, OPENAI)
    check(outcome("openai_sandbox.py", requirements=requirements), 6)


def test_a_deployment_for_swe_rex(outcome):
    """Its server is in the environment of the test, whose programs the sandbox finds."""
    at_night(HERE / "swe_rex.txt")
    check(outcome("swerex_deployment.py", requirements=HERE / "swe_rex.txt"), 3)


def test_a_sandbox_environment_for_inspect(start_agent, tmp_path):
    """Inspect brings conformance tests of sandbox environments."""
    at_night(HERE / "inspect.txt")
    agent = start_agent()
    command = [python_of(HERE / "inspect.txt"), "-m", "pytest", "-q", "--noconftest", "-p", "no:cacheprovider", "-o", "anyio_mode=auto",
               HERE / "inspect_self_check.py"]
    done = run_program(command, tmp_path, {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(PACKAGE),
                                           "SKIFF_URL": agent.url, "SKIFF_TOKEN": agent.token})
    assert done.returncode == 0, done.stdout[-6000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 40, done.stdout


@pytest.mark.parametrize("requirements", NEEDED, ids=lambda path: path.stem)
def test_the_types_are_whole(requirements, tmp_path):
    """mypy, which has an environment of its own, sees the packages of the systems."""
    at_night(requirements)
    mypy = python_of(HERE / "types.txt").parent / "mypy"
    done = subprocess.run([mypy, "--strict", "--python-executable", python_of(requirements), "--cache-dir", tmp_path,
                           *(ADAPTERS / f"{name}.py" for name in NEEDED[requirements])], capture_output=True, text=True, timeout=300,
                          cwd=PACKAGE)
    assert done.returncode == 0, done.stdout
