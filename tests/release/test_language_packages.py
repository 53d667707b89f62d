"""The packages `skiff-sandbox`, SDK and programs, installed by the real pip and the real npm, and removed by them."""

import csv
import email
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import zipfile

import pytest

from made import QEMU, TREE, VERSION, architectures, make, one, run
from package_registries import NpmRegistry
from waiting import until

sys.path.insert(0, str(TREE / "tests/clients"))
import installed  # noqa: E402

PYTHON_SDK = TREE / "tests/clients/sdk_python"
OF_PYTHON = "from skiff_sandbox import Sandbox\nwith Sandbox.create() as box: print(box.run('echo hello', check=True).stdout, end='')"
OF_NODE = """import { Sandbox } from "skiff-sandbox";
const box = await Sandbox.create();
process.stdout.write((await box.run("echo hello", { check: true })).stdout);
await box.remove();
"""
OFFLINE = ("--no-index", "--disable-pip-version-check", "--no-cache-dir", "--quiet")


def says_hello(program, home):
    """Runs a command in a sandbox, with both programs of one directory."""
    home.mkdir(exist_ok=True)
    done = run(program, "run", "--driver", "local", "--", "echo", "hello", env={"HOME": str(home), "PATH": f"{program.parent}:{os.defpath}"})
    return (done.returncode, done.stdout) == (0, "hello\n"), done


def pip_installs(programs, package):
    """From a directory of wheels, or one wheel; without httpx, which a registry would give."""
    source = [package] if package.is_file() else [f"--find-links={package}", "skiff-sandbox"]
    done = run(programs / "pip", "install", *OFFLINE, "--no-deps", "--force-reinstall", *source)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The packages of all architectures that are built."""
    return make(tmp_path_factory.mktemp("both"), *architectures(), script="language_packages.py")


@pytest.fixture(scope="module")
def virtual(tmp_path_factory):
    """The directory of programs of an environment of Python's."""
    folder = tmp_path_factory.mktemp("venv")
    run("/usr/bin/python3", "-m", "venv", folder, check=True)
    return folder / "bin"


def test_pip_installs_the_programs_and_removes_them(both, virtual, tmp_path):
    before = {path for path in virtual.parent.rglob("*")}
    pip_installs(virtual, both)
    assert run(virtual / "skiff", "version", env={}).stdout == f"skiff {VERSION}\n"
    said, done = says_hello(virtual / "skiff", tmp_path / "home")
    assert said, done
    assert (virtual.parent / "share/man/man1/skiff.1").exists()
    assert run(virtual / "pip", "check").stdout == f"skiff-sandbox {VERSION} requires httpx, which is not installed.\n"
    assert run(virtual / "pip", "uninstall", "--yes", "--quiet", "skiff-sandbox").returncode == 0
    left = {path for path in virtual.parent.rglob("*")} - before
    assert {path for path in left if not path.is_dir()} == set(), left


def uses_sdk(python, home, **variables):
    """A program of the SDK that names the driver alone; the directory of the programs is not on its PATH."""
    (dependencies,) = (installed.python_of(PYTHON_SDK / "sdk.txt").parents[1] / "lib").glob("python3*/site-packages")
    return run(python, "-c", OF_PYTHON, env={"HOME": str(home), "PATH": os.defpath, "PYTHONPATH": str(dependencies), "SKIFF_DRIVER": "local",
                                             "PYTHONDONTWRITEBYTECODE": "1", **variables})


def test_the_module_of_the_wheel_uses_the_program_of_the_wheel(both, virtual, tmp_path):
    pip_installs(virtual, both)
    decoy = tmp_path / "decoy/skiff"
    decoy.parent.mkdir()
    decoy.write_text("#!/bin/sh\necho another skiff >&2\nexit 1\n")
    decoy.chmod(0o755)
    done = uses_sdk(virtual / "python", tmp_path, PATH=f"{decoy.parent}:{os.defpath}")
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr
    assert "another skiff" in uses_sdk(virtual / "python", tmp_path, SKIFF=str(decoy)).stderr  # a program that is named goes before it


def test_without_programs_the_module_says_what_is_missing(both, virtual, tmp_path):
    pip_installs(virtual, one(both, "*-any.whl"))
    done = uses_sdk(virtual / "python", tmp_path, PATH="/nowhere")
    assert done.returncode == 1 and "there is no program 'skiff'" in done.stderr and "name skiff in SKIFF" in done.stderr


def described(wheel):
    """The fields, text and entry points of a wheel, and the checksums of its module. Builders name licences in ways of their own."""
    with zipfile.ZipFile(wheel) as archive:
        info = f"skiff_sandbox-{VERSION}.dist-info"
        about = email.message_from_bytes(archive.read(f"{info}/METADATA"))
        points = archive.read(f"{info}/entry_points.txt").decode().split()
        module = {name: archive.getinfo(name).CRC for name in archive.namelist() if name.startswith("skiff_sandbox/")}
    # Builders write the limits of a version in orders of their own.
    fields = sorted((name, sorted(re.findall(r"[<>=!~]+|[\w.-]+", value))) for name, value in about.items()
                    if name not in ("Metadata-Version", "Project-URL", "License-File"))
    return fields, about.get_payload().strip(), points, module


def test_each_wheel_has_the_module_that_a_clone_builds(both, tmp_path):
    sources = tmp_path / "tree/sdk/python"
    shutil.copytree(TREE / "sdk/python", sources, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    shutil.copy(TREE / "CMakeLists.txt", tmp_path / "tree")
    run(installed.python_of(PYTHON_SDK / "build.txt"), "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path / "built", sources, check=True)
    wheels = list(both.glob("*.whl"))
    assert len(wheels) == len(architectures()) + 1
    for wheel in wheels:
        assert described(wheel) == described(one(tmp_path / "built", "*.whl")), wheel.name
    assert "skiff_sandbox/py.typed" in described(wheels[0])[-1]


@pytest.mark.parametrize("arch, platform", [("x86_64", "manylinux_2_17"), ("x86_64", "manylinux_2_36"), ("x86_64", "musllinux_1_2"),
                                            ("aarch64", "manylinux_2_17"), ("aarch64", "musllinux_1_2")])
def test_pip_chooses_the_wheel_of_the_platform(both, virtual, tmp_path, arch, platform):
    if arch == "aarch64" and "arm64" not in architectures():
        pytest.skip("build/release-arm64 is not built")
    # Installers that know a platform know the older ones of its kind.
    older = {"manylinux_2_36": ["manylinux_2_17"], "musllinux_1_2": ["musllinux_1_1"]}.get(platform, [])
    flags = [f"--platform={name}_{arch}" for name in [platform, *older]]
    done = run(virtual / "pip", "download", *OFFLINE, f"--find-links={both}", "--only-binary=:all:", "--no-deps", *flags, f"--dest={tmp_path}", "skiff-sandbox")
    assert done.returncode == 0, done.stderr
    wheel = one(tmp_path, "*.whl")
    assert f"_{arch}" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        rows = {row[0]: row for row in csv.reader(io.StringIO(archive.read(f"skiff_sandbox-{VERSION}.dist-info/RECORD").decode()))}
        assert set(rows) == set(archive.namelist())
        archive.extractall(tmp_path / "unpacked")
    program = tmp_path / f"unpacked/skiff_sandbox-{VERSION}.data/scripts/skiff"
    program.chmod(0o755)
    if arch == "x86_64":
        assert run(program, "version", env={}).stdout == f"skiff {VERSION}\n"
    elif QEMU:
        assert run(QEMU, program, "version", env={}).stdout == f"skiff {VERSION}\n"


class Npm:
    """npm and the node of .ci/python-tools.txt, with a prefix and a home of their own."""

    def __init__(self, folder, registry):
        # Without the gate's own variables, which skiff would report as unknown.
        inherited = {name: value for name, value in installed.with_node().items() if not name.startswith("SKIFF")}
        self.prefix, self.environment = folder / "prefix", {**inherited, "HOME": str(folder), "npm_config_registry": registry.url}
        self.program = self.prefix / "bin/skiff"
        self.environment["PATH"] = f"{self.prefix}/bin:{self.environment['PATH']}"
        script = installed.node().parent.parent / "lib/node_modules/npm/bin/npm-cli.js"
        self.command = [installed.node(), script] if script.exists() else ["npm"]

    def __call__(self, *words, place=None):
        """Installs for the machine, or in a directory."""
        where = [f"--prefix={place}"] if place else ["--global", f"--prefix={self.prefix}"]
        done = run(*self.command, *words, *where, "--no-audit", "--no-fund", "--silent", env=self.environment)
        assert done.returncode == 0, (done.stdout, done.stderr)
        return done.stdout

    def skiff(self, *words, **options):
        return run(self.program, *words, env={**self.environment, **options})


@pytest.fixture
def registry(both):
    with NpmRegistry(both) as served:
        yield served


@pytest.fixture
def npm(registry, tmp_path):
    return Npm(tmp_path, registry)


@pytest.fixture(params=["in its place", "as a child"])
def start(request, tmp_path):
    """Variables with which node can put a program in its place, and with which it cannot, as before version 22.15."""
    if request.param == "in its place":
        return {}
    (tmp_path / "without.js").write_text("delete process.execve;\n")
    return {"NODE_OPTIONS": f"--require={tmp_path}/without.js"}


def test_npm_installs_the_programs_and_removes_them(npm, start):
    npm("install", "skiff-sandbox")
    packages = {path.name for path in (npm.prefix / "lib/node_modules").rglob("skiff-sandbox*")}
    assert packages == {"skiff-sandbox", "skiff-sandbox-linux-x64"}
    told = npm.skiff("version", **start)
    assert (told.returncode, told.stdout, told.stderr) == (0, f"skiff {VERSION}\n", "")
    hello = npm.skiff("run", "--driver", "local", "--", "sh", "-c", "echo hello; exit 7", **start)
    assert (hello.returncode, hello.stdout) == (7, "hello\n"), hello.stderr
    npm("uninstall", "skiff-sandbox")
    assert [path for path in npm.prefix.rglob("*") if not path.is_dir() and ".package-lock" not in path.name] == []


def uses_npm_sdk(place, **variables):
    (place / "program.mjs").write_text(OF_NODE)
    path = f"{installed.node().parent}:{os.defpath}"
    return run(installed.node(), place / "program.mjs", env={"HOME": str(place), "PATH": path, "SKIFF_DRIVER": "local", **variables})


def test_the_sdk_of_npm_uses_the_program_of_npm(npm, tmp_path):
    place = tmp_path / "project"
    place.mkdir()
    npm("install", "skiff-sandbox", place=place)
    done = uses_npm_sdk(place)
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr
    assert (place / "node_modules/skiff-sandbox/dist/index.d.ts").exists()
    assert "there is no program /nowhere" in uses_npm_sdk(place, SKIFF="/nowhere").stderr  # a program that is named goes before it


def test_a_program_of_npm_gets_signals_and_its_end_is_told(npm, start, tmp_path):
    npm("install", "skiff-sandbox")
    address = tmp_path / "agent.sock"
    agent = subprocess.Popen([npm.prefix / "bin/skiffd", "--listen", f"unix:{address}", "--root", tmp_path],
                             env={**npm.environment, **start, "SKIFF_TOKEN": "token-of-thirty-two-characters-00"}, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    until(address.exists, 60, "a socket")
    agent.send_signal(signal.SIGTERM)
    assert agent.wait(60) in (143, -signal.SIGTERM)


def test_without_the_package_of_the_machine_it_says_what_is_missing(npm, registry, tmp_path):
    del registry.files["skiff-sandbox-linux-x64"]  # an optional package may be missing
    npm("install", "skiff-sandbox")
    told = npm.skiff("version")
    assert told.returncode == 1 and "skiff-sandbox-linux-x64 is not installed" in told.stderr
    assert "npm install skiff-sandbox-VERSION.tgz skiff-sandbox-linux-x64-VERSION.tgz" in told.stderr
    place = tmp_path / "project"
    place.mkdir()
    npm("install", "skiff-sandbox", place=place)
    told = uses_npm_sdk(place)
    assert told.returncode == 1 and "skiff-sandbox-linux-x64 is not installed" in told.stderr and "SKIFF_URL" in told.stderr
