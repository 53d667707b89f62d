"""The Python SDK as a package: what is generated is fresh, its types are whole, its wheel installs, its page's programs run."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import urllib.request

import api_types
import pytest
import sync_faces
from client_fixtures import check
from conftest import HERE, MODULES, PACKAGE, sdk_python
from debian_python import debian_python
from installed import all_versions, node, node_modules, python_of

PAGE = HERE.parents[2] / "docs/sdk-python.md"
OLDER_AND_NEWER = ("3.10", "3.12", "3.13", "3.14")
OF_DEBIAN = "3.14"


def run(command, directory, **variables):
    environment = {"PATH": os.environ["PATH"], "HOME": str(directory), "PYTHONDONTWRITEBYTECODE": "1", **variables}
    done = subprocess.run([str(word) for word in command], cwd=directory, env=environment, capture_output=True, text=True, timeout=150,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0, (done.stdout[-6000:], done.stderr[-6000:])
    return done.stdout


def programs():
    """The page's programs by their headings: {heading: (program, what it prints)}."""
    parts = re.findall(r"^## \d+\. (.*?)\n.*?^```python\n(.*?)^```\n.*?^```text\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    return {heading: (program, printed) for heading, program, printed in parts}


def test_the_types_are_those_of_the_agent(agent):
    document = json.loads(urllib.request.urlopen(f"{agent.url}/openapi.json").read())
    assert (PACKAGE / "skiff_sandbox/_types.py").read_text() == api_types.module(document), "run sdk/python/generate/api_types.py"


def test_the_synchronous_faces_are_those_of_the_asynchronous_ones():
    there = {path: path.read_text() for path in (PACKAGE / "skiff_sandbox/_sync").glob("*.py")}
    assert there == sync_faces.modules(), "run sdk/python/generate/sync_faces.py"


def test_whom_it_asks(outcome):
    check(outcome("settings_cases.py", {"PATH": "/usr/bin:/bin"}), 6)


def written(tmp_path):
    """The page's programs as files."""
    for number, (program, _) in enumerate(programs().values(), 1):
        (tmp_path / f"program_{number}.py").write_text(program)
    return sorted(tmp_path.glob("program_*.py"))


def test_the_types_are_whole_by_mypy(tmp_path):
    """mypy, which has an environment of its own, sees httpx. Also the lines of the page."""
    mypy = python_of(HERE.parent / "sdk_adapters/types.txt").parent / "mypy"
    run([mypy, "--strict", "--python-version", "3.10", "--python-executable", sdk_python(), "--cache-dir", tmp_path / "cache",
         PACKAGE / "skiff_sandbox/__init__.py", *written(tmp_path)], tmp_path, MYPYPATH=str(PACKAGE))


def test_the_types_are_whole_by_pyright(tmp_path):
    """The adapters need the packages of others, and have tests of their own."""
    if not all_versions():
        pytest.skip("at night")
    written(tmp_path)
    shutil.copytree(PACKAGE / "skiff_sandbox", tmp_path / "skiff_sandbox", ignore=shutil.ignore_patterns("integrations", "__pycache__"))
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"include": ["."], "pythonVersion": "3.10"}))
    run([node(), node_modules(HERE) / "pyright/index.js", "--pythonpath", sdk_python(), "--warnings"], tmp_path)


@pytest.mark.parametrize("heading", programs())
def test_a_program_of_the_page_prints_what_it_says(heading, agent, tmp_path):
    program, printed = programs()[heading]
    (tmp_path / "program.py").write_text(program)
    told = run([sdk_python(), "program.py"], tmp_path, PYTHONPATH=MODULES, SKIFF_URL=agent.url, SKIFF_TOKEN=agent.token)
    assert told == printed


def test_the_page_has_twelve_programs():
    assert len(programs()) == 12 == len(re.findall(r"^```python", PAGE.read_text(), re.M))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from the sources alone."""
    directory = tmp_path_factory.mktemp("wheel")
    sources = directory / "tree/sdk/python"
    sources.parent.mkdir(parents=True)
    shutil.copy(PACKAGE.parents[1] / "CMakeLists.txt", directory / "tree")  # has the version
    shutil.copytree(PACKAGE, sources, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    run([python_of(HERE / "build.txt"), "-m", "build", "--wheel", "--no-isolation", "--outdir", directory, sources], directory)
    (made,) = directory.glob("*.whl")
    yield made
    shutil.rmtree(directory)


def test_the_wheel_installs_into_an_empty_environment(wheel, tmp_path, agent):
    run(["/usr/bin/python3", "-m", "venv", tmp_path / "empty"], tmp_path)
    python = tmp_path / "empty/bin/python"
    # Its dependencies are those that the tests have: no registry is asked.
    packages = sdk_python().parents[1] / "lib"
    run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", wheel], tmp_path)
    (dependencies,) = packages.glob("python3*/site-packages")
    told = run([python, "-c", "from skiff_sandbox import Sandbox\nwith Sandbox.create() as box: print(box.run('echo $((6 * 7))').stdout)"],
               tmp_path, PYTHONPATH=str(dependencies), SKIFF_URL=agent.url, SKIFF_TOKEN=agent.token)
    assert told.strip() == "42"
    files = run([python, "-m", "pip", "show", "--files", "skiff-sandbox"], tmp_path)
    assert "skiff_sandbox/py.typed" in files and "Requires: httpx" in files


def other_pythons():
    """Interpreters of other versions: those of this machine, on the PATH or by pyenv, and one of Debian's. {version: path}"""
    found = {}
    for version in OLDER_AND_NEWER:
        candidates = [shutil.which(f"python{version}"), *(pathlib.Path.home() / ".pyenv/versions").glob(f"{version}.*/bin/python3")]
        works = [path for path in candidates if path and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0]
        found.update({version: works[0]} if works else {})
    return {OF_DEBIAN: debian_python(OF_DEBIAN), **found}


@pytest.mark.parametrize("version", OLDER_AND_NEWER)
def test_another_version_of_python(version, outcome, agent, tmp_path):
    if not all_versions() or version not in other_pythons():
        pytest.skip("at night, where the machine has it")
    python, venv = other_pythons()[version], tmp_path / "venv"
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", HERE / "sdk.txt"]
    if subprocess.run([python, "-c", "import ensurepip"], capture_output=True).returncode == 0:
        run([python, "-m", "venv", venv], tmp_path)
        run([venv / "bin/python", *install], tmp_path)
    else:  # Debian's
        run([python, "-m", "venv", "--without-pip", venv], tmp_path)
        run(["/usr/bin/python3", *install, "--root-user-action", "ignore", "--python-version", version, "--only-binary", ":all:",
             "--target", next(venv.glob("lib/python3*/site-packages"))], tmp_path)
    host = {"SKIFF_URL": agent.url, "SKIFF_TOKEN": agent.token}
    for faces in ("asynchronous", "synchronous"):
        check(outcome("box_cases.py", host, faces, python=venv / "bin/python"), 18)
