"""The suites of this machine run with the driver local. With SKIFF_TEST_DRIVER=box they run with boxes: as an ordinary user, to
whom the files of a box belong, and without the tests that are about something else."""

import contextlib
import fnmatch
import os

import boxes
from launcher import DRIVER
from not_run import TESTS

#: Tests that are about the driver local, or about what a box has not, each with the reason.
NOT_WITH_BOX = {
}

_ordinary = contextlib.ExitStack()


def become_ordinary():
    """Root becomes an ordinary user until `be_again`, and so does what it starts."""
    if DRIVER != "box" or os.geteuid() != 0:
        return
    groups = os.getgroups()
    os.setgroups([])
    os.setresgid(boxes.ORDINARY, boxes.ORDINARY, 0)
    os.setresuid(boxes.ORDINARY, boxes.ORDINARY, 0)
    names = {name: os.environ.get(name) for name in ("LOGNAME", "USER")}
    os.environ.update(dict.fromkeys(names, f"skiff-{boxes.ORDINARY}"))

    def be_root():
        os.setresuid(0, 0, 0)
        os.setresgid(0, 0, 0)
        os.setgroups(groups)
        os.environ.update({name: value for name, value in names.items() if value is not None})

    _ordinary.callback(be_root)


def be_again():
    _ordinary.close()


def choose(config, items):
    """Leaves out what is not about boxes."""
    if DRIVER != "box":
        return
    left = [item for item in items if any(fnmatch.fnmatchcase(_name(item), pattern) for pattern in NOT_WITH_BOX)]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]


def _name(item):
    return f"{os.path.relpath(item.path, TESTS / 'integration')}::{item.nodeid.partition('::')[2]}"
