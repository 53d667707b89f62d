"""The hook of .ci/hooks refuses what the linter would refuse, in a repository of its own."""

import pathlib
import shutil
import subprocess

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
IGNORED = shutil.ignore_patterns(".git", "build", ".cache", "__pycache__", ".pytest_cache")


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    root = tmp_path_factory.mktemp("hook") / "tree"
    shutil.copytree(TREE, root, ignore=IGNORED, symlinks=True)
    for command in (["init", "-q"], ["config", "user.email", "a@b.invalid"], ["config", "user.name", "a"], ["add", "-A"],
                    ["commit", "-q", "-m", "all"], ["config", "core.hooksPath", ".ci/hooks"]):
        subprocess.run(["git", *command], cwd=root, check=True, capture_output=True, timeout=60)
    return root


def commit(root, file, text):
    """The hook's words about a commit of that text, or None if the commit was made. It leaves nothing staged."""
    (root / file).write_text(text)
    subprocess.run(["git", "add", file], cwd=root, check=True, timeout=60)
    done = subprocess.run(["git", "commit", "-q", "-m", "change"], cwd=root, capture_output=True, text=True, timeout=60)
    if done.returncode == 0:
        return None
    subprocess.run(["git", "reset", "-q", "--hard"], cwd=root, check=True, timeout=60)
    return done.stderr


def test_a_broken_link_is_refused_and_a_sound_change_is_committed(repository):
    page = (repository / "docs/roadmap.md").read_text()
    assert "the link nowhere.md leads nowhere" in commit(repository, "docs/roadmap.md", page + "\n[a](nowhere.md)\n")
    assert commit(repository, "docs/roadmap.md", page + "\n[a](tour.md)\n") is None


@pytest.mark.skipif(not shutil.which("clang-format-19"), reason="clang-format-19 is not installed")
def test_what_is_not_formatted_is_refused(repository):
    source = (repository / "base/id.cpp").read_text()
    said = commit(repository, "base/id.cpp", source.replace("namespace skiff {", "namespace   skiff {"))
    assert "make format" in said
