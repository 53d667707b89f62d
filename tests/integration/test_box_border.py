"""A box shows nothing of the user and nothing of the kernel, whatever paths they have."""

import os
import pathlib
import secrets
import shutil

import pytest

import boxes
from boxes import skiff  # noqa: F401


@pytest.mark.parametrize("directory", ["/proc", "/proc/self/fd", "/sys", "/sys/kernel", "/sys/fs/cgroup/memory", "/dev/pts"])
def test_a_directory_of_the_kernel_is_not_mounted(skiff, directory):
    if not os.path.isdir(directory):
        pytest.skip(f"not run: there is no {directory}")
    for form in ("", ":ro"):
        err = skiff("up", "box", "--mount", directory + form, status=125)[1]
        assert "is a directory of the kernel" in err, err
        assert skiff.names() == []


@pytest.fixture
def in_opt(skiff):
    """A directory of the user below one that boxes see."""
    if os.geteuid() != 0:
        pytest.skip("not run: only root can create a directory there")
    made = pathlib.Path("/opt") / ("skiff-itest-" + secrets.token_hex(4))
    had_opt = made.parent.exists()
    made.mkdir(parents=True)
    os.chown(made, skiff.uid, skiff.uid)
    yield made
    shutil.rmtree(made)
    if not had_opt:
        made.parent.rmdir()


def test_a_home_below_a_directory_of_programs_is_hidden(skiff, in_opt):
    (in_opt / "key").write_text("secret")
    os.chmod(in_opt / "key", 0o644)
    skiff.home = in_opt
    skiff.up()
    assert skiff.sh(f"ls -A {in_opt}") == ""
    assert skiff.sh(f"touch {in_opt}/x 2>/dev/null || echo refused") == "refused\n"


def test_a_state_below_a_directory_of_programs_is_hidden(skiff, in_opt):
    usual = skiff.state, skiff.sandboxes
    skiff.state, skiff.sandboxes = in_opt, in_opt / "skiff/box"
    skiff.up()
    assert (in_opt / "skiff/signing-key.pem").exists()
    assert skiff.sh(f"ls -A {in_opt}/skiff") == ""
    skiff("rm", "--all", "-q")
    skiff.state, skiff.sandboxes = usual


def test_roots_state_is_not_below_a_directory_of_another_user(skiff, tmp_path):
    if skiff.uid != 0:
        pytest.skip("not run: it is root's state that others must not replace")
    usual = skiff.state
    foreign, shared = tmp_path / "foreign", tmp_path / "shared"
    foreign.mkdir()
    os.chown(foreign, boxes.ORDINARY, boxes.ORDINARY)
    shared.mkdir()
    shared.chmod(0o777)
    (tmp_path / "link").symlink_to(foreign)
    for state, who in ((foreign, f"user {boxes.ORDINARY}"), (foreign / "a/b", f"user {boxes.ORDINARY}"), (shared, "every user"),
                       (tmp_path / "link", f"user {boxes.ORDINARY}")):
        skiff.state = state
        for words in (("up", "box"), ("ps",)):
            err = skiff(*words, status=125)[1]
            assert who in err and "XDG_STATE_HOME" in err, (state, err)
        assert not list(foreign.iterdir()) and not list(shared.iterdir())
    skiff.state = usual
