"""The released skiffd runs in any image: it needs no loader, no library and none of glibc's plug-ins, and it is small."""

import os
import pathlib
import re
import subprocess

MAX_BYTES = 11_000_000  # docs/adr/0010
BINARY = pathlib.Path(os.environ["SKIFFD"])


def told_by(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_it_is_linked_statically_and_stripped():
    told = told_by("file", "--brief", BINARY)
    assert "statically linked" in told and "stripped" in told and "not stripped" not in told, told
    segments = told_by("readelf", "--program-headers", "--wide", BINARY)
    assert "INTERP" not in segments and "DYNAMIC" not in segments, segments


def test_the_stack_and_relocations_are_protected():
    segments = told_by("readelf", "--program-headers", "--wide", BINARY)
    assert "GNU_RELRO" in segments
    (stack,) = [line for line in segments.splitlines() if "GNU_STACK" in line]
    assert "RWE" not in stack


def test_the_notices_name_what_it_is_linked_with():
    linked = set(re.findall(r"\b(lib[\w+-]+)\.a\(", (BINARY.parent / "skiffd.map").read_text()))
    others = {name for name in linked if not name.startswith("libskiff_")}
    assert {"libc", "libstdc++", "libssl"} <= others
    notice = (pathlib.Path(__file__).resolve().parents[2] / "NOTICE").read_text()
    assert [name for name in sorted(others) if not re.search(rf"\b{re.escape(name)}(?![\w+-])", notice)] == []


def test_it_is_small():
    assert BINARY.stat().st_size <= MAX_BYTES


def test_it_holds_none_of_glibcs_name_services():
    # Code that reads this file would load shared libraries of one glibc version at run time.
    content = BINARY.read_bytes()
    for name in (b"/etc/nsswitch.conf", b"libnss_"):
        assert name not in content, name


def test_it_runs_with_nothing_around_it(tmp_path):
    done = subprocess.run([BINARY, "version"], env={}, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("skiffd "), done
    assert done.stderr == ""
