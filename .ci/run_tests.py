"""Runs ctest and counts its cases: `run_tests.py [--again] BUILD_DIRECTORY CTEST_ARGUMENT...`.

With --again, the entries that failed run once more, one at a time and with no other beside them. A case that passes then
is flaky: it is named, and in the gate (CI=true) it fails the run unless tests/flaky.txt has had it for less than two weeks.
Each failure is named with its cause below it.
The last lines are `N flaky: NAMES` and `N not run: REASONS`, where there are such, and `N passed, N failed`, which counts
executions. The names of the cases that ran are appended to the file SKIFF_CASE_LIST, from which .ci/steps.sh counts each
case once, however many suites run it."""

import collections
import datetime
import os
import pathlib
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as xml

KNOWN_FLAKY = pathlib.Path(__file__).resolve().parent.parent / "tests/flaky.txt"
FLAKY_FOR = datetime.timedelta(days=14)
# More entries than this are no accident: to run them all again would cost time and hide nothing.
MOST_AGAIN = 8
CAUSE_LINES, CAUSE_COLUMNS = 8, 240


def cause_lines(failure):
    """The lines of a report's failure that say why: those that pytest marks and its last one, or GoogleTest's first ones."""
    lines = (failure.text or failure.get("message") or "").strip().splitlines()
    marked = [line for line in lines if line.startswith("E ")]
    chosen = [*marked[:CAUSE_LINES], lines[-1]] if marked else lines[:CAUSE_LINES]
    return [line[:CAUSE_COLUMNS] for line in chosen]


class Entry:
    """One ctest entry and its cases, as ctest's report and the entry's own (cases/NAME.xml) tell."""

    def __init__(self, testcase, cases, begun):
        self.name, self.seconds = testcase.get("name"), float(testcase.get("time") or 0)
        told = re.findall(r"^processor time: ([\d.]+) s$", testcase.findtext("system-out") or "", re.M)  # by leak_check.py
        self.processors = float(told[-1]) if told else 0.0
        self.ran, self.passed, self.failed, self.not_run = testcase.get("status") == "run", 0, [], []
        self.cases = set()  # their names, which are the same in every suite
        self.causes = {}    # of the failed ones, by name
        for case in self.reported(cases / f"{self.name}.xml", begun):
            skipped = case.find("skipped")
            if skipped is None and case.get("status", "run") == "run":
                self.cases.add(f"{case.get('file', '')} {case.get('classname')} {case.get('name')}")
            failures = case.findall("failure") + case.findall("error")
            if failures:
                self.failed.append(name := f"{self.name}: {case.get('name')}")
                self.causes[name] = cause_lines(failures[0])
            elif skipped is not None:
                self.not_run.append((skipped.get("message") or "no reason").strip().splitlines()[-1])
            elif case.get("status", "run") == "run":
                self.passed += 1
        # It crashed, ran out of time, left something behind, or has no report: the entry is the case.
        if not self.ran and not self.failed:
            self.failed.append(self.name)
        elif self.ran and not self.passed and not self.not_run:
            self.passed = 1
        if self.passed + len(self.failed) > 0 and not self.cases:
            self.cases.add(self.name)

    @staticmethod
    def reported(report, begun):
        try:
            if report.stat().st_mtime < begun:  # of a run before this one
                return []
            return list(xml.parse(report).getroot().iter("testcase"))
        except (OSError, xml.ParseError):
            return []


def run(build, arguments):
    """ctest's status, and what it ran. Two may run in one build directory, with other entries each."""
    report, cases = build / f"tests-{os.getpid()}.xml", build / "cases"
    cases.mkdir(exist_ok=True)
    begun = time.time() - 0.1  # files bear the time of the last tick
    done = subprocess.run(["ctest", "--test-dir", build, "--output-on-failure", "--no-tests=error", "--output-junit", report.resolve(), *arguments])
    try:
        ran = xml.parse(report).getroot().findall("testcase")
    except (OSError, xml.ParseError) as error:
        print(f"ctest left no report: {error}")
        return done.returncode or 1, []
    report.unlink()
    return done.returncode, [Entry(case, cases, begun) for case in ran]


def known_flaky(today):
    """Names that may be flaky still: each line of the file is `NAME  YYYY-MM-DD  REASON`."""
    names = set()
    for line in KNOWN_FLAKY.read_text().splitlines():
        if line and not line.startswith("#"):
            name, day, _reason = re.split(r"\s{2,}", line, maxsplit=2)
            if today - datetime.date.fromisoformat(day) < FLAKY_FOR:
                names.add(name)
    return names


def times(entries):
    for what, cost in (("seconds", lambda entry: entry.seconds), ("seconds of processors", lambda entry: entry.processors)):
        by_room = collections.Counter()
        for entry in entries:
            by_room[entry.name.split(".")[0]] += cost(entry)
        most = sorted(entries, key=lambda entry: -cost(entry))[:10]
        print(f"{what}, added up: " + ", ".join(f"{room} {sum:.0f}" for room, sum in by_room.most_common()))
        print(f"the most {what}: " + ", ".join(f"{entry.name} {cost(entry):.0f}" for entry in most))


def main(arguments):
    again = arguments[0] == "--again"
    build, *rest = arguments[1:] if again else arguments
    build = pathlib.Path(build)
    status, entries = run(build, rest)
    times(entries)
    failing = [entry for entry in entries if entry.failed]
    causes = {name: lines for entry in failing for name, lines in entry.causes.items()}
    flaky = []
    if again and 0 < len(failing) <= MOST_AGAIN:
        names = "|".join(re.escape(entry.name) for entry in failing)
        print(f"once more, one at a time: {', '.join(name for entry in failing for name in entry.failed)}", flush=True)
        status, second = run(build, ["--parallel", "1", "-R", f"^({names})$"])
        still = {name for entry in second for name in entry.failed}
        flaky = [name for entry in failing for name in entry.failed if name not in still]
        for entry in second:
            causes = {**entry.causes, **causes}
        entries = [entry for entry in entries if not entry.failed] + second
    if case_list := os.environ.get("SKIFF_CASE_LIST"):
        with open(case_list, "a") as file:  # in one write: other suites append, too
            file.write("".join(f"{name}\n" for entry in entries for name in sorted(entry.cases)))
    failed = [name for entry in entries for name in entry.failed]
    # Whoever runs the tests of a tree that passed its gate has a busy machine, and nothing to mend.
    unknown = sorted(set(flaky) - known_flaky(datetime.date.today())) if os.environ.get("CI") == "true" else []
    failed += [f"{name} (flaky, and not in tests/flaky.txt)" for name in unknown]
    for name, lines in causes.items():
        print(f"cause of {name}:", *(lines or ["the report has none"]), sep="\n    ")
    passed = sum(entry.passed for entry in entries) - len(unknown)
    if not failed and (status != 0 or passed == 0):
        failed.append("ctest")
    for name in failed:
        print(f"failed: {name}")
    if flaky:
        print(f"{len(flaky)} flaky: {', '.join(flaky)}")
    reasons = collections.Counter(reason for entry in entries for reason in entry.not_run)
    if reasons:
        print(f"{reasons.total()} not run: " + "; ".join(f"{count} {reason}" for reason, count in reasons.most_common()))
    print(f"{passed} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
