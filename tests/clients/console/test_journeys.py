"""People's journeys through the page of `skiff console` in Chromium, against the real binaries. Each is a function of a file in journeys/;
no page may break its own Content-Security-Policy, open a dialog of the browser, or have a finding of axe-core. All share one browser,
and each has a console and a profile of its own."""

import json
import os
import pathlib
import re
import selectors
import shutil
import subprocess
import tempfile

import pytest

import installed
from consoles import Console

HERE = pathlib.Path(__file__).resolve().parent
JOURNEYS = [name for file in sorted((HERE / "journeys").glob("*.mjs")) if file.stem not in ("keys", "network") for name in re.findall(r"^  async (\w+)\(", file.read_text(), re.M)]
AT_NIGHT = bool(os.environ.get("SKIFF_NIGHTLY"))
ONLY_AT_NIGHT = {"uses_every_view_again_and_again_without_growing"}
LONGEST = 150  # seconds of a journey
# The run that looks for leaks lasts so many minutes at night.
MINUTES = float(os.environ.get("MINUTES", 10)) if AT_NIGHT else 0

pytestmark = pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no chromium: run .ci/setup --clients")


class Browser:
    """`journeys.mjs`, which is started when it is needed."""

    def __init__(self, home):
        self.home = home
        self.process = None

    def start(self):
        chosen = {name: os.environ[name] for name in ("PATIENCE", "PICTURES", "SKIFF_NIGHTLY", "MINUTES", "SAMPLES", "SKIFF_UPDATE_PICTURES") if name in os.environ}
        self.errors = open(self.home / "stderr", "a+b")
        self.process = subprocess.Popen(
            [installed.node(), HERE / "journeys.mjs"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, cwd=self.home,
            # Chromium takes names of files for text in this encoding.
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(self.home), "CHROMIUM": shutil.which("chromium"),
                 "MODULES": str(installed.node_modules(HERE)), **chosen})

    def walks(self, journey, **place):
        """How the journey failed; None: it did not."""
        if self.process is None:
            self.start()
        self.process.stdin.write(json.dumps({"journey": journey, **place}).encode() + b"\n")
        self.process.stdin.flush()
        with selectors.DefaultSelector() as waiting:
            waiting.register(self.process.stdout, selectors.EVENT_READ)
            line = self.process.stdout.readline() if waiting.select(LONGEST + 60 * MINUTES) else b""
        if not line:
            self.errors.seek(0)
            told = self.errors.read()[-4000:].decode(errors="replace")
            self.stop()
            return f"{journey} has not ended: {told}"
        answer = json.loads(line)
        print(*answer["said"], sep="\n")
        return answer["failure"]

    def stop(self):
        if self.process is None:
            return
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.errors.close()
        self.process = None


@pytest.fixture(scope="module")
def browser():
    with tempfile.TemporaryDirectory(prefix="skiff-browser-", ignore_cleanup_errors=True) as home:
        one = Browser(pathlib.Path(home))
        yield one
        one.stop()


@pytest.mark.parametrize("journey", [one for one in JOURNEYS if AT_NIGHT or one not in ONLY_AT_NIGHT])
def test_journey(skiff, browser, journey):
    console = Console(skiff)
    try:
        failure = browser.walks(journey, link=console.link, console=console.process.pid, command=skiff.command, environment=skiff.environment(),
                                root=str(skiff.root("demo")), work=skiff.workdir("demo"))
        assert failure is None, failure
    finally:
        console.stop()
