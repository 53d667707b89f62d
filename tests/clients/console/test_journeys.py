"""People's journeys through the page of `skiff console` in Chromium, against the real binaries. Each is a function of journeys.mjs; no page
may break its own Content-Security-Policy, open a dialog of the browser, or have a finding of axe-core."""

import json
import os
import pathlib
import re
import shutil

import pytest

import installed
from client_fixtures import run_program
from consoles import Console

HERE = pathlib.Path(__file__).resolve().parent
JOURNEYS = re.findall(r"^  async (\w+)\(", (HERE / "journeys.mjs").read_text(), re.M)

pytestmark = pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no chromium: run .ci/setup --clients")


@pytest.mark.parametrize("journey", JOURNEYS)
def test_journey(skiff, tmp_path, journey):
    console = Console(skiff)
    browser = tmp_path / "browser"
    browser.mkdir()
    try:
        done = run_program([installed.node(), HERE / "journeys.mjs", journey, console.link, browser], tmp_path,
                           {"PATH": os.environ["PATH"], "HOME": str(browser), "TMPDIR": str(browser), "CHROMIUM": shutil.which("chromium"),
                            "MODULES": str(installed.node_modules(HERE)), "SKIFF": json.dumps(skiff.command), "CONSOLE": str(console.process.pid),
                            "SKIFF_ENVIRONMENT": json.dumps(skiff.environment()), "ROOT": str(skiff.root("demo")),
                            "WORK": skiff.workdir("demo"), "PATIENCE": os.environ.get("PATIENCE", "60000"), "PICTURES": os.environ.get("PICTURES", "")})
        assert done.stdout == "done\n", (done.stdout[-2000:], done.stderr[-6000:])
    finally:
        console.stop()
