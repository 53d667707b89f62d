"""The pictures of README.md show what the programs do: the recording is compared with a run of the same lines. Screenshots are in the
pages, and come from a journey through the console (tests/clients/console)."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "tests/integration"))

import boxes  # noqa: E402
import pictures  # noqa: E402
from waiting import until  # noqa: E402

UPDATE = os.environ.get("SKIFF_UPDATE_DOCS") == "1"


@pytest.fixture
def skiff(tmp_path):
    boxes.need_boxes(os.geteuid())
    one = boxes.BoxSkiff(tmp_path, os.geteuid())
    yield one
    one.finish()


def record(skiff):
    """Types the lines of the session: [(line, what it printed)]."""
    train = skiff.work / "train.sh"
    train.write_text(pictures.TRAIN)
    train.chmod(0o755)
    environment = skiff.environment(PATH=f"{pathlib.Path(skiff.program).parent}:{os.environ['PATH']}")
    printed = []
    for line in pictures.SESSION:
        if line.startswith("export "):
            name, value = line.removeprefix("export ").split("=")
            environment[name] = value
        if line.startswith("skiff logs"):
            # A reader does not type as fast as this.
            until(lambda: "epoch 3" in skiff("logs", "demo", "train")[0], what="three lines of the command")
        done = subprocess.run(["sh", "-c", line], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
                              cwd=skiff.work, env=environment)
        assert done.returncode == 0, (line, done.stdout)
        # The address is a path in the state directory.
        printed.append((line, done.stdout.replace(str(skiff.state), "/home/me/.local/state").splitlines()))
    return printed


def test_the_recording_shows_what_the_lines_print(skiff):
    now = pictures.screen(record(skiff))
    file = pictures.PICTURES / "session.svg"
    if UPDATE:
        file.write_text(now)
    assert pictures.texts(file.read_text()) == pictures.texts(now)
    assert len(pictures.texts(now)) > 15


@pytest.mark.parametrize("name", ["license.svg", "release.svg", "linux.svg"])
def test_the_badges_are_true(name):
    now = pictures.badges()[name]
    if UPDATE:
        (pictures.PICTURES / name).write_text(now)
    assert (pictures.PICTURES / name).read_text() == now


def test_readme_shows_each_picture_and_is_short():
    text = (TREE / "README.md").read_text()
    shown = set(re.findall(r"\(docs/pictures/([a-z]+\.svg)\)", text))
    assert shown == {path.name for path in pictures.PICTURES.glob("*.svg")}
    assert len(text.encode()) <= 10_000


def test_the_pages_show_each_screenshot_and_all_are_small():
    text = (TREE / "docs/console.md").read_text()
    shown = re.findall(r"\(pictures/([a-z-]+\.png)\)", text)
    assert sorted(shown) == sorted(path.name for path in pictures.PICTURES.glob("*.png"))
    assert all((pictures.PICTURES / name).stat().st_size < 120_000 for name in shown)
