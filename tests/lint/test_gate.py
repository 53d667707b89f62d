"""The gate counts cases, and fails on flaky ones: .ci/run_tests.py and .ci/steps.sh on small directories of tests."""

import datetime
import os
import pathlib
import re
import shutil
import subprocess

import pytest

CI = pathlib.Path(__file__).resolve().parents[2] / ".ci"

# A test that writes the report of an entry: what is in it, then its own status.
REPORT = 'printf \'<testsuite>%s</testsuite>\' "$1" > cases/$2.xml; exit $3'
PASSES = '<testcase name="passes"/>'
FAILS = '<testcase name="fails"><failure message="why"/></testcase>'
BREAKS = '<testcase name="breaks"><error message="why"/></testcase>'
SKIPS = '<testcase name="skips"><skipped message="only root can do it"/></testcase>'
# How GoogleTest reports a skipped case, and a case that a filter left out.
SKIPS_IN_C = '<testcase name="skips" status="run"><skipped message="file.cpp:1&#10;only root can do it"/></testcase>'
LEFT_OUT = '<testcase name="other" status="notrun"/>'
# The gate that runs these tests counts its own cases alone.
OWN_LIST = {"SKIFF_CASE_LIST": ""}


class Gate:
    """A tree of its own, with the tests that it is told of."""

    def __init__(self, root):
        self.root, self.build = root, root / "build"
        (root / ".ci").mkdir()
        (root / "tests").mkdir()
        self.build.mkdir()
        self.flaky = root / "tests/flaky.txt"
        self.flaky.write_text("# names\n")
        shutil.copy(CI / "run_tests.py", root / ".ci")
        self.entries = []

    def add(self, name, script, *arguments):
        words = " ".join(f"[==[{word}]==]" for word in ("/bin/sh", "-c", f"cd {self.build}; {script}", "sh", *arguments))
        self.entries.append(f"add_test([==[{name}]==] {words})")

    def add_report(self, name, cases, status=0):
        self.add(name, REPORT, cases, name, str(status))

    def add_once(self, name, first, then):
        """Adds an entry that has another report the first time."""
        self.add(name, f"if mkdir {name}; then set -- '{first}' {name} 1; else set -- '{then}' {name} 0; fi; {REPORT}")

    def run(self, *arguments, ci="true"):
        """Runs the gate; returns its status and the last lines."""
        (self.build / "CTestTestfile.cmake").write_text("\n".join(self.entries))
        done = subprocess.run(["/usr/bin/python3", self.root / ".ci/run_tests.py", *arguments, self.build], capture_output=True,
                              text=True, timeout=50, env={**os.environ, **OWN_LIST, "CI": ci})
        return done.returncode, done.stdout.splitlines()

    def runs(self, name):
        return (self.build / f"{name}.runs").read_text().count("x")


@pytest.fixture
def gate(tmp_path):
    return Gate(tmp_path)


def test_cases_are_counted_and_those_that_did_not_run_are_listed(gate):
    gate.add_report("one", PASSES * 3 + SKIPS)
    gate.add_report("two", PASSES + SKIPS_IN_C + LEFT_OUT)
    gate.add("without-a-report", "true")
    status, lines = gate.run()
    assert (status, lines[-2:]) == (0, ["2 not run: 2 only root can do it", "5 passed, 0 failed"])


def test_an_entry_of_which_nothing_ran_has_passed_nothing(gate):
    gate.add_report("one", PASSES)
    gate.add_report("two", SKIPS)
    assert gate.run()[1][-2:] == ["1 not run: 1 only root can do it", "1 passed, 0 failed"]


@pytest.mark.parametrize("cases", [FAILS, BREAKS])
def test_a_failed_case_is_named(gate, cases):
    gate.add_report("one", PASSES + cases, status=1)
    status, lines = gate.run("--again")
    name = "fails" if cases == FAILS else "breaks"
    assert (status, lines[-2:]) == (1, [f"failed: one: {name}", "1 passed, 1 failed"])


@pytest.mark.parametrize("text, cause", [
    ("def test_x():\n&gt;       assert 0\nE       assert 0\n\nx.py:3: AssertionError", ["E       assert 0", "x.py:3: AssertionError"]),
    ("x_test.cpp:7\nExpected equality", ["x_test.cpp:7", "Expected equality"]),
    ("", ["the report has none"])])
def test_a_failure_is_shown_with_its_cause(gate, text, cause):
    gate.add_report("one", f'<testcase name="fails" status="run"><failure message="">{text}</failure></testcase>', status=1)
    _status, lines = gate.run()
    at = lines.index("cause of one: fails:")
    assert lines[at + 1:at + 1 + len(cause)] == [f"    {line}" for line in cause]
    assert lines[at + 1 + len(cause)] == "failed: one: fails"


def test_a_crash_is_a_failure_whatever_an_older_report_says(gate):
    gate.add_report("one", PASSES)
    assert gate.run()[0] == 0
    gate.entries.clear()
    gate.add("one", "touch -d 2020-01-01 cases/one.xml; kill -SEGV $$")
    gate.add_report("two", PASSES)
    status, lines = gate.run("--again")
    assert (status, lines[-2:]) == (1, ["failed: one", "1 passed, 1 failed"])


def test_an_entry_whose_cases_pass_and_whose_status_is_not_0_fails(gate):
    gate.add_report("one", PASSES, status=1)
    status, lines = gate.run()
    assert (status, lines[-2:]) == (1, ["failed: one", "1 passed, 1 failed"])


def test_no_tests_are_a_failure(gate):
    status, lines = gate.run()
    assert (status, lines[-1]) == (1, "0 passed, 1 failed")


def test_a_finding_is_never_tried_again(gate):
    gate.add("one", "echo x >> one.runs; [ $(grep -c x one.runs) -gt 1 ]")
    status, lines = gate.run()
    assert (status, lines[-2:], gate.runs("one")) == (1, ["failed: one", "0 passed, 1 failed"], 1)


def test_a_case_that_fails_once_is_flaky_and_fails_the_gate(gate):
    gate.add_once("one", PASSES + FAILS, PASSES * 2)
    gate.add_report("two", PASSES)
    status, lines = gate.run("--again")
    assert status == 1
    assert lines[-3:] == ["failed: one: fails (flaky, and not in tests/flaky.txt)", "1 flaky: one: fails", "2 passed, 1 failed"]


@pytest.mark.parametrize("ci", ["", "false"])
def test_a_case_that_fails_once_is_named_to_a_user_and_passes(gate, ci):
    gate.add_once("one", PASSES + FAILS, PASSES * 2)
    gate.add_report("two", PASSES)
    status, lines = gate.run("--again", ci=ci)
    assert (status, lines[-2:]) == (0, ["1 flaky: one: fails", "3 passed, 0 failed"])
    gate.entries.clear()
    gate.add_report("one", FAILS, status=1)
    assert gate.run("--again", ci=ci)[0] == 1, "what fails twice fails everywhere"


@pytest.mark.parametrize("days, status, last", [(0, 0, "3 passed, 0 failed"), (13, 0, "3 passed, 0 failed"),
                                                (14, 1, "2 passed, 1 failed")])
def test_a_known_flaky_test_is_listed_for_two_weeks(gate, days, status, last):
    day = datetime.date.today() - datetime.timedelta(days)
    gate.flaky.write_text(f"# names\none: fails  {day}  the reason\n")
    gate.add_once("one", PASSES + FAILS, PASSES * 2)
    gate.add_report("two", PASSES)
    found, lines = gate.run("--again")
    assert (found, lines[-2:]) == (status, ["1 flaky: one: fails", last])


def test_when_much_fails_nothing_is_tried_again(gate):
    for number in range(9):
        gate.add(f"e{number}", f"echo x >> e{number}.runs; false")
    status, lines = gate.run("--again")
    assert (status, lines[-1], gate.runs("e0")) == (1, "0 passed, 9 failed", 1)


@pytest.mark.parametrize("below_make", [False, True])
def test_steps_are_added_up(tmp_path, below_make):
    """A step that counts, one that only ends, one that fails after it has counted, one that says so, and one that make runs."""
    script = f"""
        top={tmp_path}; . {CI}/steps.sh; begin logs
        step counts sh -c 'echo "2 flaky: a, b"; echo "3 not run: 3 no node"; echo "10 passed, 0 failed"'
        step ends true
        step breaks sh -c 'echo "7 passed, 0 failed"; exit 1'
        step says sh -c 'echo "1 not run: 1 no root"; echo "1 passed, 2 failed"; exit 1'
        step makes make -f {tmp_path}/Makefile
        finish"""
    (tmp_path / "Makefile").write_text("all:\n\t@echo '5 passed, 2 failed'; exit 1\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=50,
                          env={**environment, **({"MAKELEVEL": "1"} if below_make else {})})
    assert done.stdout.splitlines()[-3:] == ["2 flaky: a, b", "4 not run: 3 no node; 1 no root", "24 passed, 5 failed"]
    assert done.returncode == 1
    passing = subprocess.run(["bash", "-c", f"top={tmp_path}; . {CI}/steps.sh; begin logs; step ends true; finish"],
                             capture_output=True, text=True, timeout=50)
    assert (passing.returncode, passing.stdout.splitlines()[-1]) == (0, "1 passed, 0 failed")


def test_a_case_of_several_suites_is_one_distinct_case(gate):
    """The same cases in two entries, by GoogleTest and by pytest, an entry without a report, and a second suite of them all."""
    in_c = '<testcase name="A" classname="Suite" file="a_test.cpp"/><testcase name="A" classname="Suite" file="b_test.cpp"/>'
    cases = in_c + '<testcase name="test_a[1]" classname="tests.test_a"/>' + SKIPS + LEFT_OUT
    gate.add_report("one", cases)
    gate.add_report("one.variant", cases)
    gate.add("without-a-report", "true")
    gate.run()
    suite = f"python3 {gate.root}/.ci/run_tests.py {gate.build}"
    script = f"top={gate.root}; . {CI}/steps.sh; begin logs; step first {suite}; step second {suite}; step ends true; finish"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=50, env={**os.environ, **OWN_LIST})
    assert done.stdout.splitlines()[-2:] == ["4 distinct cases", "15 passed, 0 failed"]


def test_the_gate_runs_what_the_readme_says():
    """Each target that README lists, by make as people call it."""
    told = set(re.findall(r"^\| `make ([a-z-]+)` \|", (CI.parent / "README.md").read_text(), re.M))
    ran = set(re.findall(r"\b(?:make|made) ([a-z-]+)", (CI / "run").read_text()))
    # `run` serves until somebody ends it: test_readme.py starts what it starts. The gate leaves out itself, the night and the release.
    assert told - {"run", "gate", "nightly", "release"} <= ran, told - ran


class Suites:
    """A tree with .ci/test and a cmake that only says what it is asked to build."""

    def __init__(self, root):
        self.root = root
        shutil.copytree(CI, root / ".ci")
        (root / "tests").mkdir()
        (root / "tests/flaky.txt").write_text("# names\n")
        build = root / "build/release"
        build.mkdir(parents=True)
        entries = [("fs.content.write", "unit"), ("container.cli.parse", "unit"), ("integration.files", "integration;threads"),
                   ("attacks.roots", "integration;threads"), ("image.binary", "integration"), ("lint.words", "lint")]
        (build / "CTestTestfile.cmake").write_text("".join(
            f'add_test("{name}" /bin/true)\nset_tests_properties("{name}" PROPERTIES LABELS "{labels}")\n' for name, labels in entries))
        (root / "bin").mkdir()
        (root / "bin/cmake").write_text(f'#!/bin/sh\necho "$@" >>{root}/asked\n')
        (root / "bin/cmake").chmod(0o755)

    def builds(self, *arguments):
        """The targets that were built before the tests ran, and the last line."""
        (self.root / "asked").write_text("")
        environment = {**os.environ, "PATH": f"{self.root / 'bin'}:{os.environ['PATH']}", "SKIFF_SETUP_DONE": "1", "HOME": str(self.root), **OWN_LIST,
                       "XDG_CACHE_HOME": str(self.root / "cache")}
        done = subprocess.run([self.root / ".ci/test", *arguments], capture_output=True, text=True, timeout=50, env=environment)
        last = [line for line in (self.root / "asked").read_text().splitlines() if line.startswith("--build")][-1]
        return set(last.partition("--target ")[2].split()), done.stdout.splitlines()[-1]


BINARIES = {"skiffd", "skiff", "testcmd", "without_syscalls"}


@pytest.mark.parametrize("arguments, targets, passed", [
    ([], {"all"}, 6),
    (["plain", "-R", "integration.files"], BINARIES, 1),
    (["plain", "-R", "integration.files|attacks.roots"], BINARIES, 2),
    (["plain", "-R", "^fs.content"], {"testcmd", "fs_tests"}, 1),
    (["plain", "-R", "container|attacks"], {"container_tests"} | BINARIES, 2),
    (["plain", "-R", "image|files"], {"all"}, 2),
    (["plain", "-L", "lint"], {"testcmd"}, 1),
    (["plain", "-R", "nothing"], {"testcmd"}, 0),
])
def test_targets_that_tests_need_are_built(tmp_path, arguments, targets, passed):
    asked, last = Suites(tmp_path).builds(*arguments)
    assert asked == targets
    assert last == (f"{passed} passed, 0 failed" if passed else "0 passed, 1 failed")
