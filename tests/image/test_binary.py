"""The released programs run anywhere: they need no loader, no library and none of glibc's plug-ins, and they are small."""

import os
import pathlib
import re
import subprocess

import pytest

MAX_BYTES = {"skiffd": 11_100_000, "skiff": 12_650_000}  # docs/adr/0010
PROGRAMS = [pathlib.Path(os.environ["SKIFFD"]), pathlib.Path(os.environ["SKIFF"])]


@pytest.fixture(params=PROGRAMS, ids=lambda program: program.name)
def program(request):
    return request.param


def told_by(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_it_is_linked_statically_and_stripped(program):
    told = told_by("file", "--brief", program)
    assert "statically linked" in told and "stripped" in told and "not stripped" not in told, told
    segments = told_by("readelf", "--program-headers", "--wide", program)
    assert "INTERP" not in segments and "DYNAMIC" not in segments, segments


def test_the_stack_and_relocations_are_protected(program):
    segments = told_by("readelf", "--program-headers", "--wide", program)
    assert "GNU_RELRO" in segments
    (stack,) = [line for line in segments.splitlines() if "GNU_STACK" in line]
    assert "RWE" not in stack


def test_the_notices_name_what_it_is_linked_with(program):
    linked = set(re.findall(r"\b(lib[\w+-]+)\.a\(", (program.parent / f"{program.name}.map").read_text()))
    others = {name for name in linked if not name.startswith("libskiff_")}
    assert {"libc", "libstdc++", "libssl"} <= others
    notice = (pathlib.Path(__file__).resolve().parents[2] / "NOTICE").read_text()
    assert [name for name in sorted(others) if not re.search(rf"\b{re.escape(name)}(?![\w+-])", notice)] == []


def test_it_is_small(program):
    assert program.stat().st_size <= MAX_BYTES[program.name]


def test_its_everyday_functions_are_those_that_it_has(program):
    """The list by which the linker orders them: what is not in the program any more orders nothing."""
    listed = set((pathlib.Path(__file__).resolve().parents[2] / f"base/link/{program.name}.order").read_text().split())
    symbols = {line.split()[-1] for line in told_by("nm", program.parent / f"{program.name}.debug").splitlines()}
    there = len(listed & symbols) / len(listed)
    assert there > 0.8, f"{there:.0%} of base/link/{program.name}.order are in it: bench/order.py writes it again"


def test_it_holds_none_of_glibcs_name_services(program):
    # They are shared libraries of one glibc version, loaded at run time.
    content = program.read_bytes()
    assert b"libnss_" not in content


def test_it_runs_with_nothing_around_it(program, tmp_path):
    done = subprocess.run([program, "version"], env={}, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith(f"{program.name} "), done
    assert done.stderr == ""
