"""clang-tidy over the product, in parallel: `tidy.py CLANG_TIDY BUILD_DIRECTORY CACHE_DIRECTORY`.

It reads what the build compiles: batches of files, which share the time for their headers, or single files. A batch that
passed is not looked at again until one of its files, something that they include, their flags, the checks or clang-tidy itself
change: the cache holds one empty file named by the hash of all that. BUILD_DIRECTORY must have been built (its records of
what includes what are used)."""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

LAYERS = ("base", "protocol", "fs", "sessions", "runtime", "container")
# In a batch the source files are included, too.
OURS = f"/({'|'.join(LAYERS)}|tests)/([^/]+/)*[^/]+\\.[ch]pp$"
BATCH = re.compile(r"/skiff_\w+\.dir/Unity/")
FINDING = re.compile(r"^(/[^:]+):(\d+):(\d+): (?:error|warning): (.*)$", re.M)
# A handler is awaited by the connection's coroutine, which owns these for the whole request, or the agent does for ever:
# the references it is given can't outlive them. No option of the check says so.
REFERENCE_CHECK = "cppcoreguidelines-avoid-reference-coroutine-parameters"
OWNED_BY_THE_CALLER = re.compile(r"(?:const )?(?:\w+::)*(HttpExchange|Call|FileCall|Services|Agent|BlockingPool|Context)& ")


def dependencies(build):
    """Object file -> what it was compiled from, as ninja knows it."""
    found, current = {}, None
    for line in output_of("ninja", "-C", build, "-t", "deps").splitlines():
        if line and not line[0].isspace():
            current = found.setdefault(line.split(":")[0], [])
        elif line.strip() and current is not None:
            current.append(line.strip())
    return found


class Hashes:
    def __init__(self):
        self.known = {}

    def of(self, path):
        if path not in self.known:
            self.known[path] = hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
        return self.known[path]


def allowed(finding):
    match = FINDING.match(finding)
    path, line, column, text = match.groups()
    if REFERENCE_CHECK not in text:
        return False
    source = pathlib.Path(path).read_text().splitlines()[int(line) - 1]
    return OWNED_BY_THE_CALLER.match(source[int(column) - 1:]) is not None


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def examine(tidy, build, source):
    """The findings in one file (and its headers): empty when it is clean."""
    done = subprocess.run([tidy, "-p", build, "--quiet", f"--header-filter={OURS}", source], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    # What is said of a batch itself is that it includes source files.
    findings = [line for line in done.stdout.splitlines() if FINDING.match(line) and not BATCH.search(line)]
    if done.returncode != 0 and not FINDING.search(done.stdout):
        return [f"{source}: clang-tidy failed: {done.stderr.strip()[-2000:]}"]
    return [line for line in findings if not allowed(line)]


def main(program, build, cache):
    top = pathlib.Path.cwd()
    passed = pathlib.Path(cache) / "tidy"
    passed.mkdir(parents=True, exist_ok=True)
    depends, hashes = dependencies(build), Hashes()
    salt = output_of(program, "--version")
    salt += hashes.of(top / ".clang-tidy") + hashes.of(__file__)
    work, compiled = [], {}
    for entry in json.loads((pathlib.Path(build) / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["file"])
        name = source.relative_to(top) if source.is_relative_to(top) else source
        if not BATCH.search(entry["file"]) and (name.parts[0] not in LAYERS or name.suffix != ".cpp"):
            continue
        inputs = depends.get(re.search(r" -o (\S+)", entry["command"]).group(1), [])
        compiled[name] = compiled.get(name, False) or bool(inputs)
        if not inputs:
            continue  # a file of two programs, of which one is enough
        # The same in every checkout: not the directory, and not the order that its name gives the inputs.
        command = entry["command"].replace(str(top), "")
        parts = [salt, command, *sorted(hashes.of(os.path.join(build, path)) for path in inputs if not BATCH.search(path))]
        key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
        if not (passed / key).exists():
            work.append((name, key))
    if missing := [str(name) for name, there in compiled.items() if not there]:
        sys.exit(f"error: not compiled in {build}: {', '.join(missing)}: build it first")
    findings, begun = {}, time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        jobs = {pool.submit(examine, program, build, str(name)): (name, key) for name, key in work}
        for job in concurrent.futures.as_completed(jobs):
            name, key = jobs[job]
            for finding in job.result():
                if finding not in findings:  # a header's finding comes with every file that includes it
                    findings[finding] = True
                    print(finding.replace(f"{top}/", ""), flush=True)
            if not job.result():
                (passed / key).touch()
    print(f"clang-tidy: {len(work)} batches and files looked at in {time.monotonic() - begun:.0f} s, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
