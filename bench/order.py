#!/usr/bin/env python3
"""Writes base/link/skiffd.order and skiff.order: the functions that both programs run every day, which the linker then puts beside each
other. The kernel maps sixteen pages around each that is used, so functions that are spread over a file cost memory.

    cmake --preset release && cmake --build build/release && bench/order.py

Needs root, valgrind and perf (apt-get install valgrind linux-perf). Valgrind sees each function that runs, but knows no command that is
started as skiffd does it; what starts commands is sampled by perf. It runs copies of the programs without their debug files, on loopback and in a directory of its own.
A function that is not in these files any more, or not yet, is only somewhere else in the program."""

import bisect
import contextlib
import http.client
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
BUILD = TOP / "build/release"
TOKEN = "0" * 32
REQUESTS = [("GET", "/healthz", None), ("GET", "/v1/info", None), ("GET", "/nothing", None), ("PUT", "/v1/sessions/default/files/new", b"text"),
            ("GET", "/v1/sessions/default/files/new", None), ("GET", "/v1/sessions/default/files:list?path=.", None), ("GET", "/v1/sessions", None)]
STARTS = [("POST", "/v1/sessions/default/commands", body) for body in (
    b'{"argv": ["/bin/true"]}', b'{"command": "echo hi"}', b'{"command": "cat", "stdin": "hi"}', b'{"command": "echo hi", "mode": "stream"}')]
SAMPLED = 15  # seconds
COMMANDS = [["--version"], ["ps"], ["ps", "-o", "json"], ["describe", "demo"], ["exec", "demo", "--", "true"], ["exec", "demo", "--", "echo", "hi"],
            ["logs", "demo"], ["cp", "file", "demo:file"], ["cp", "demo:file", "copy"], ["cp", "tree", "demo:tree"], ["cp", "demo:tree", "copies"]]


def watched(profile: Path, program: Path, *words: object) -> list[str]:
    return ["valgrind", "-q", "--tool=callgrind", "--dump-instr=yes", f"--callgrind-out-file={profile}", str(program), *map(str, words)]


def program(name: str, folder: Path) -> Path:
    """Without the link to its debug file, which valgrind cannot read."""
    copy = folder / name
    subprocess.run(["objcopy", "--remove-section=.gnu_debuglink", BUILD / name, copy], check=True)
    return copy


@contextlib.contextmanager
def agent(command: list[str]):
    """A function that sends it a request."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        port = int(re.search(r":(\d+)", process.stdout.readline()).group(1))
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            def ask(method: str, path: str, body: bytes | None):
                connection.request(method, path, body, {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"})
                connection.getresponse().read()
            yield ask, process.pid
        process.terminate()


def run_agent(folder: Path) -> set[int]:
    profile, samples, token, root = (folder / name for name in ("profile", "samples", "token", "root"))
    token.touch(mode=0o600)
    token.write_text(TOKEN + "\n")
    root.mkdir()
    words = ["--listen", "127.0.0.1:0", "--root", root, "--token-file", token]
    with agent(watched(profile, program("skiffd", folder), *words)) as (ask, _):
        for request in REQUESTS:
            ask(*request)
    with agent([BUILD / "skiffd", *words]) as (ask, pid):
        record = subprocess.Popen(["perf", "record", "-q", "-e", "cpu-clock", "-F", "20000", "-p", str(pid), "-o", samples], stderr=subprocess.DEVNULL)
        until = time.monotonic() + SAMPLED
        while time.monotonic() < until:
            for request in STARTS:
                ask(*request)
        record.send_signal(signal.SIGINT)
        record.wait()
    listed = subprocess.run(["perf", "script", "-i", samples, "-F", "ip"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    return profiled(profile) | {int(word, 16) for word in listed.split()}


def run_launcher(folder: Path) -> set[int]:
    """With an agent that is not watched."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "SKIFF_DRIVER": "local", "SKIFFD": str(BUILD / "skiffd")}
    (folder / "tree").mkdir()
    for path in (folder / "file", folder / "tree/file"):
        path.write_text("text\n" * 1000)

    def run(*words: object):
        subprocess.run([*map(str, words)], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)

    launcher, found = program("skiff", folder), set()
    run(BUILD / "skiff", "up", "demo", "-q")
    try:
        for number, words in enumerate(COMMANDS):
            run(*watched(folder / f"profile-{number}", launcher, *words))
            found |= profiled(folder / f"profile-{number}")
    finally:
        run(BUILD / "skiff", "rm", "demo", "-q", "--force")
    return found


def profiled(profile: Path) -> set[int]:
    """The addresses of the instructions that ran. The file has each as it is, or relative to the one before."""
    at, found = 0, set()
    for line in profile.read_text().splitlines():
        if not line or line[0] not in "0+-*":
            continue
        word = line.split(maxsplit=1)[0]
        at = int(word, 16) if word.startswith("0x") else at if word == "*" else at + int(word)
        found.add(at)
    return found


def functions(name: str, addresses: set[int]) -> list[str]:
    """Of the names that equal code has, the longest: C++ has no two of them, C may."""
    known: dict[int, tuple[int, str]] = {}
    listed = subprocess.run(["nm", "-S", BUILD / f"{name}.debug"], stdout=subprocess.PIPE, text=True, check=True).stdout
    for words in map(str.split, listed.splitlines()):
        if len(words) == 4 and words[2] in "tTwWi":
            begin, size = int(words[0], 16), int(words[1], 16)
            known[begin] = max(known.get(begin, (0, "")), (begin + size, words[3]), key=lambda one: (len(one[1]), one[1]))
    begins, found = sorted(known), set()
    for at in addresses:
        place = bisect.bisect(begins, at) - 1
        end, symbol = known[begins[place]] if place >= 0 else (0, "")
        if at < end:
            found.add(symbol)
    return sorted(found)


def main():
    for tool, package in (("valgrind", "valgrind"), ("perf", "linux-perf")):
        if shutil.which(tool) is None:
            sys.exit(f"bench/order.py: there is no {tool}: apt-get install {package}")
    for name, run in (("skiffd", run_agent), ("skiff", run_launcher)):
        with tempfile.TemporaryDirectory(prefix="skiff-order-") as folder:
            found = functions(name, run(Path(folder)))
        (TOP / f"base/link/{name}.order").write_text("".join(f"{one}\n" for one in found))
        print(f"base/link/{name}.order: {len(found)} functions")


if __name__ == "__main__":
    main()
