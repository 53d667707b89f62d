"""The programs for arm64, run by qemu's emulation of Linux: what it can't do (namespaces, seccomp, ptrace) is not tested here."""

import os
import pathlib
import shutil
import subprocess

import pytest

from waiting import until

TREE = pathlib.Path(__file__).resolve().parents[2]
BUILD = TREE / "build/release-arm64"
QEMU = shutil.which("qemu-aarch64-static")
TOKEN = "arm64-test-token-of-32-characters"

pytestmark = [pytest.mark.skipif(QEMU is None, reason="no qemu-aarch64-static here"),
              pytest.mark.skipif(not (BUILD / "skiffd").exists(), reason="build/release-arm64 is not built")]


def emulated(program, *arguments):
    return [QEMU, str(BUILD / program), *map(str, arguments)]


@pytest.fixture
def agent(tmp_path):
    """The address of an emulated agent whose root is `tmp_path`."""
    path = tmp_path / "agent.sock"
    process = subprocess.Popen(emulated("skiffd", "--listen", f"unix:{path}", "--root", tmp_path), env={"SKIFF_TOKEN": TOKEN},
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    until(path.exists, what="a socket")
    yield f"unix://{path}"
    process.terminate()
    _, log = process.communicate(timeout=30)
    assert process.returncode == 143, log


@pytest.fixture
def skiff(agent, tmp_path):
    """`skiff(*arguments)`: the emulated launcher at that agent."""

    def run(*arguments, **options):
        return subprocess.run(emulated("skiff", *arguments), capture_output=True, text=True, timeout=60,
                              env={"SKIFF_URL": agent, "SKIFF_TOKEN": TOKEN, "HOME": str(tmp_path), "PATH": os.environ["PATH"]}, **options)

    def exec_(*command, **options):
        return run("exec", *options.pop("flags", ()), "x", "--", *command, **options)

    run.exec = exec_
    return run


@pytest.mark.parametrize("program", ["skiff", "skiffd"])
def test_it_says_its_version(program):
    told = subprocess.run(emulated(program, "version"), capture_output=True, text=True, timeout=60, env={})
    assert told.returncode == 0 and told.stdout.startswith(f"{program} ")


def test_commands_run_and_their_statuses_arrive(skiff):
    done = skiff.exec("sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "out\n", "err\n")
    assert skiff.exec("sh", "-c", "kill -9 $$").returncode == 137
    assert [skiff.exec("true").returncode for _ in range(20)] == [0] * 20


def test_input_and_large_output_arrive(skiff):
    text = "a line of bytes \u00e4\u00f6\n" * 100_000
    done = skiff.exec("cat", flags=["-i"], input=text)
    assert done.returncode == 0 and done.stdout == text


def test_a_whole_tree_is_killed_at_the_time_limit(skiff):
    done = skiff.exec("sh", "-c", "sleep 1000 & sleep 1000", flags=["--timeout", "1s"])
    assert done.returncode == 124


def test_files_are_copied_both_ways(skiff, tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "here/a").write_bytes(os.urandom(1 << 20))
    (tmp_path / "here/link").symlink_to("a")
    assert skiff("cp", tmp_path / "here", "x:there").returncode == 0
    assert skiff("cp", "x:there", tmp_path / "back").returncode == 0
    assert (tmp_path / "back/a").read_bytes() == (tmp_path / "here/a").read_bytes()
    assert os.readlink(tmp_path / "back/link") == "a"
