"""The quick starts of E2B's SDKs, and of frameworks that use them, run unchanged: the code is in the README that the installed
package brings. Where a package shows none, the program beside this file is made from the calls that its documents name."""

import pathlib

import pytest

import installed
from blocks import of_npm, of_python, the_one_with
from installed import node, node_modules, python_of

HERE = pathlib.Path(__file__).resolve().parent


def versions(newest, older):
    """Two versions, the second one at night."""
    return [newest, pytest.param(older, marks=pytest.mark.skipif(not installed.all_versions(), reason="at night"))]


NPM = versions(HERE, HERE / "older")


def run_python(run_client, python, code):
    return run_client("/bin/sh", "-c", 'printf %s "$CODE" | "$0" "$1"', python, HERE / "run_block.py", CODE=code)


def run_javascript(run_client, folder, modules, code):
    # Node looks for packages beside the program.
    (folder / "quick_start.mjs").write_text(code)
    (folder / "node_modules").symlink_to(modules)
    return run_client(node(), folder / "quick_start.mjs", NODE_DISABLE_COMPILE_CACHE="1")


@pytest.mark.parametrize("version", versions("langchain", "langchain_older"))
def test_e2b_in_python(run_client, version):
    python = python_of(HERE / f"{version}.txt")
    code = the_one_with(of_python(python, "e2b"), "from e2b import Sandbox", "echo")
    assert run_python(run_client, python, code) == "Hello from E2B!\n\n"


@pytest.mark.parametrize("packages", NPM, ids=["newest", "older"])
def test_e2b_in_javascript(run_client, tmp_path, packages):
    modules = node_modules(packages)
    code = the_one_with(of_npm(modules, "e2b"), "from 'e2b'", "echo")
    assert run_javascript(run_client, tmp_path, modules, code) == "Hello from E2B!\n\n"


@pytest.mark.parametrize("version", versions("langchain", "langchain_older"))
def test_langchain(run_client, version):
    """All blocks of its README: the newer one has a second, of asyncio."""
    python = python_of(HERE / f"{version}.txt")
    for code in of_python(python, "langchain-e2b"):
        assert run_python(run_client, python, code) == "hello\n\n", code


@pytest.mark.parametrize("version", versions("openai_agents", "openai_agents_older"))
def test_openai_agents(run_client, version):
    told = run_client(python_of(HERE / f"{version}.txt"), HERE / "sandbox_agent.py")
    assert told.startswith("done\n")
    for expected in ("code 0\nOutput:\n# Notes\n/workspace\n", "code 3\nOutput:\n42\n", "ready"):
        assert expected in told, told


@pytest.mark.parametrize("packages", NPM, ids=["newest", "older"])
def test_computesdk(run_client, tmp_path, packages):
    """The blocks of its README about a sandbox, files and the end, one after the other."""
    modules = node_modules(packages)
    found = of_npm(modules, "@computesdk/e2b")
    start = the_one_with([code for code in found if len(code.splitlines()) < 5], "await sdk.sandbox.create()")
    files = the_one_with(found, "filesystem.writeFile('/tmp/hello.py'", "filesystem.remove")
    end = the_one_with(found, "sandbox.getInfo()", "sandbox.destroy()")
    seen = "console.log(content, files.map((file) => file.name), exists)\n"
    told = run_javascript(run_client, tmp_path, modules, start + files + seen + end)
    assert told.startswith("""print("Hello World") [""") and "'hello.py'" in told and "true\n" in told and "running" in told, told


AT_NIGHT = pytest.mark.skipif(not installed.all_versions(), reason="at night: tests/clients/e2b_code runs the package in the gate")


@AT_NIGHT
@pytest.mark.parametrize("version", ["code_interpreter", "code_interpreter_older"])
def test_code_interpreter(run_client, version):
    python = python_of(HERE / f"{version}.txt")
    code = the_one_with(of_python(python, "e2b-code-interpreter"), "from e2b_code_interpreter import Sandbox", "with")
    assert run_python(run_client, python, code) == "2\n"


@AT_NIGHT
@pytest.mark.parametrize("version", ["code_interpreter", "code_interpreter_older"])
def test_smolagents(run_beside, version):
    """Its code imports Pillow in the sandbox, which E2B's template has."""
    assert run_beside(python_of(HERE / f"{version}.txt"), HERE / "code_agent.py") == "43\n"
