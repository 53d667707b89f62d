"""The code interpreter's packages run code, show tables and charts, and make contexts: through `skiff serve`, and without it."""

import os
import pathlib

import pytest

import installed
from client_fixtures import run_program
from dialect import Door

HERE = pathlib.Path(__file__).resolve().parent
older = pytest.mark.skipif(not installed.all_versions(), reason="SKIFF_CLIENTS=newest")


def program(tmp_path, package):
    """The JavaScript program, beside which node looks for packages."""
    copy = tmp_path / "with_javascript.mjs"
    copy.write_text((HERE / copy.name).read_text().replace("'@e2b/code-interpreter'", f"'{package}'"))
    (tmp_path / "node_modules").symlink_to(installed.node_modules(HERE))
    return copy


@pytest.fixture
def run_directly(start_agent, tmp_path):
    """Runs a program against the dialect itself, as E2B_DEBUG does; its stdout."""

    def run(*command):
        path = f"{pathlib.Path(command[0]).parent}:{os.environ['PATH']}"
        home = tmp_path / "home"
        home.mkdir()
        agent = start_agent("--dialect", "e2b=127.0.0.1:0", "--e2b-home", home, env={"PATH": path, "MPLCONFIGDIR": str(tmp_path)})
        variables = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "E2B_DEBUG": "true", "E2B_SANDBOX_URL": Door(agent).url,
                     "E2B_API_KEY": "e2b_" + "0" * 40}
        done = run_program(command, HERE, variables)
        assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-6000:], agent.log()[-3000:])
        return done.stdout

    return run


@pytest.mark.parametrize("version", ["newest", pytest.param("older", marks=older)])
def test_the_python_package(run_client, version):
    assert run_client(installed.python_of(HERE / f"{version}.txt"), HERE / "with_python.py").startswith("done with")


@pytest.mark.parametrize("package", ["@e2b/code-interpreter", pytest.param("code-interpreter-older", marks=older)])
def test_the_javascript_package(run_client, tmp_path, package):
    assert run_client(installed.node(), program(tmp_path, package)) == "done\n"


@pytest.mark.parametrize("version", ["newest", pytest.param("older", marks=older)])
def test_the_python_package_without_a_server(run_directly, version):
    assert run_directly(installed.python_of(HERE / f"{version}.txt"), HERE / "with_python.py").startswith("done with")


@pytest.mark.parametrize("package", ["@e2b/code-interpreter", pytest.param("code-interpreter-older", marks=older)])
def test_the_javascript_package_without_a_server(run_directly, tmp_path, package):
    assert run_directly(installed.node(), program(tmp_path, package)) == "done\n"
