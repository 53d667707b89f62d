"""What the gate counts, and what it doesn't forgive: .ci/run_tests.py and .ci/steps.sh on small directories of tests."""

import datetime
import pathlib
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
# Of GoogleTest, and of a case that a filter left out.
SKIPS_IN_C = '<testcase name="skips" status="run"><skipped message="file.cpp:1&#10;only root can do it"/></testcase>'
LEFT_OUT = '<testcase name="other" status="notrun"/>'


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
        """One that has another report the first time."""
        self.add(name, f"if mkdir {name}; then set -- '{first}' {name} 1; else set -- '{then}' {name} 0; fi; {REPORT}")

    def run(self, *arguments):
        """Its status and the last lines."""
        (self.build / "CTestTestfile.cmake").write_text("\n".join(self.entries))
        done = subprocess.run(["/usr/bin/python3", self.root / ".ci/run_tests.py", *arguments, self.build], capture_output=True,
                              text=True, timeout=50)
        return done.returncode, done.stdout.splitlines()

    def runs(self, name):
        return (self.build / f"{name}.runs").read_text().count("x")


@pytest.fixture
def gate(tmp_path):
    return Gate(tmp_path)


def test_cases_are_counted_and_those_that_did_not_run_are_told(gate):
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
def test_what_fails_is_named(gate, cases):
    gate.add_report("one", PASSES + cases, status=1)
    status, lines = gate.run("--again")
    name = "fails" if cases == FAILS else "breaks"
    assert (status, lines[-2:]) == (1, [f"failed: one: {name}", "1 passed, 1 failed"])


def test_a_crash_is_a_failure_whatever_an_older_report_says(gate):
    gate.add_report("one", PASSES)
    assert gate.run()[0] == 0
    gate.entries.clear()
    gate.add("one", "touch -d 2020-01-01 cases/one.xml; kill -SEGV $$")
    gate.add_report("two", PASSES)
    status, lines = gate.run("--again")
    assert (status, lines[-2:]) == (1, ["failed: one", "1 passed, 1 failed"])


def test_what_all_cases_pass_and_leaves_something_behind_fails(gate):
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


def test_what_fails_once_is_flaky_and_fails_the_gate(gate):
    gate.add_once("one", PASSES + FAILS, PASSES * 2)
    gate.add_report("two", PASSES)
    status, lines = gate.run("--again")
    assert status == 1
    assert lines[-3:] == ["failed: one: fails (flaky, and not in tests/flaky.txt)", "1 flaky: one: fails", "2 passed, 1 failed"]


@pytest.mark.parametrize("days, status, last", [(0, 0, "3 passed, 0 failed"), (13, 0, "3 passed, 0 failed"),
                                                (14, 1, "2 passed, 1 failed")])
def test_a_flaky_test_that_is_known_is_told_for_two_weeks(gate, days, status, last):
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


def test_steps_are_added_up(tmp_path):
    """One that counts, one that only ends, one that fails after it has counted, and one that says so."""
    script = f"""
        top={tmp_path}; . {CI}/steps.sh; begin logs
        step counts sh -c 'echo "2 flaky: a, b"; echo "3 not run: 3 no node"; echo "10 passed, 0 failed"'
        step ends true
        step breaks sh -c 'echo "7 passed, 0 failed"; exit 1'
        step says sh -c 'echo "1 not run: 1 no root"; echo "1 passed, 2 failed"; exit 1'
        finish"""
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=50)
    assert done.stdout.splitlines()[-3:] == ["2 flaky: a, b", "4 not run: 3 no node; 1 no root", "19 passed, 3 failed"]
    assert done.returncode == 1
    passing = subprocess.run(["bash", "-c", f"top={tmp_path}; . {CI}/steps.sh; begin logs; step ends true; finish"],
                             capture_output=True, text=True, timeout=50)
    assert (passing.returncode, passing.stdout.splitlines()[-1]) == (0, "1 passed, 0 failed")
