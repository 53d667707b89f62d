"""docs/install.md is followed as a newcomer follows it: each block runs as it stands there, with the files of a release."""

import os
import re
import shutil
import subprocess
import sys

import pytest

import boxes
from engines import podman  # noqa: F401
from made import LONGEST, TREE, VERSION, one
from package_registries import NpmRegistry
from readme import blocks_after

sys.path.insert(0, str(TREE / "tests/clients"))
import installed  # noqa: E402

PAGE = TREE / "docs/install.md"
#: Boxes are made as the user of the test: root, or whoever runs it.
need_boxes = pytest.mark.skipif(bool(boxes.reason_against(os.geteuid())), reason="no box can be made here")


def block(name):
    ((commands, _),) = blocks_after(name, PAGE)
    return "\n".join(commands)


class Newcomer:
    """A bash in which the first block of the page has run, with a home and a directory of its own."""

    def __init__(self, folder, dist, **variables):
        self.home, self.work, self.dist = folder / "home", folder / "work", dist
        self.home.mkdir()
        self.work.mkdir()
        self.environment = {"HOME": str(self.home), "PATH": os.defpath, "TMPDIR": str(folder), "LC_ALL": "C.UTF-8", **variables}

    def __call__(self, *lines):
        script = "\n".join([block("names"), f"VERSION={VERSION} FROM=file://{self.dist}", *lines])
        return subprocess.run(["bash", "-ec", script], cwd=self.work, env=self.environment, capture_output=True, text=True, timeout=LONGEST,
                              stdin=subprocess.DEVNULL)

    def files(self):
        return sorted(str(path.relative_to(self.home)) for path in self.home.rglob("*") if not path.is_dir())


@pytest.fixture
def newcomer(dist, tmp_path):
    return Newcomer(tmp_path, dist)


def installs_and_removes(newcomer, name):
    """A sandbox runs while the way is removed: it ends, and nothing stays in the home directory."""
    *lines, last = block(name).splitlines()
    assert last.endswith("skiff run --driver box -- echo hello")
    stays = last.replace("run --driver box -- echo hello", "up left -q --driver box")
    done = newcomer(*lines, last, stays, f"ls {newcomer.home}/.local/state/skiff/box", block(f"remove {name}"))
    assert done.returncode == 0, (done.stdout, done.stderr)
    said = done.stdout.splitlines()
    assert "hello" in said and said.count("left") == 2, done.stdout  # it was there, and `skiff rm` named it
    assert newcomer.files() == []
    return done


@need_boxes
@pytest.mark.parametrize("name", ["installer", "archive"])
def test_a_way_without_root(newcomer, name):
    installs_and_removes(newcomer, name)


@need_boxes
def test_pip(dist, tmp_path):
    # Without httpx, which the registry has.
    installs_and_removes(Newcomer(tmp_path, dist, PIP_NO_INDEX="1", PIP_NO_DEPS="1", PIP_NO_CACHE_DIR="1", PIP_DISABLE_PIP_VERSION_CHECK="1"), "pip")


def programs_of_npm(folder):
    """A directory with `node`, `npm` and `npx`: those of the node from PyPI find their own files only by their whole path."""
    folder.mkdir()
    (folder / "node").symlink_to(installed.node())
    modules = installed.node().parent.parent / "lib/node_modules/npm/bin"
    for name in "npm", "npx":
        script = modules / f"{name}-cli.js"
        (folder / name).write_text(f'#!/bin/sh\nexec "{installed.node()}" "{script}" "$@"\n')
        (folder / name).chmod(0o755)
    return folder


@need_boxes
def test_npm_by_files_when_the_registry_has_none_of_them(dist, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    with NpmRegistry(empty) as registry:
        newcomer = Newcomer(tmp_path, dist, PATH=f"{programs_of_npm(tmp_path / 'bin')}:{os.defpath}", npm_config_registry=registry.url,
                            npm_config_cache=str(tmp_path / "cache"), npm_config_update_notifier="false", npm_config_audit="false")
        installs_and_removes(newcomer, "npm")
    assert [path for path in (newcomer.work / "node_modules").rglob("*skiff*")] == []


def test_podman_loads_the_image_by_its_name(dist, tmp_path, podman):
    # Root's own path: podman's networks need iptables.
    newcomer = Newcomer(tmp_path, dist, PATH=f"{os.defpath}:/usr/sbin:/sbin", **podman.variables)
    done = newcomer(block("images"), f"podman load -i {one(dist, 'skiff-*-image.tar')}", "podman images --format '{{.Repository}}:{{.Tag}}'",
                    block("remove images"))
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert f"skiffd {VERSION}" in done.stdout.splitlines()
    assert {f"docker.io/library/skiffd:{VERSION}", f"docker.io/library/skiff:{VERSION}"} <= set(done.stdout.splitlines())


def test_skopeo_reads_the_images(dist):
    if shutil.which("skopeo") is None:
        pytest.skip(".ci/setup --nightly has not installed skopeo")
    for name in "skiffd", "skiff":
        done = subprocess.run(["skopeo", "inspect", "--override-arch", "amd64", f"oci-archive:{one(dist, f'{name}-*-image.tar')}"],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and f'"org.opencontainers.image.title": "{name}"' in done.stdout, done.stderr


def test_each_file_that_the_page_fetches_is_made(dist):
    text = PAGE.read_text().replace("${VERSION}", VERSION).replace("$VERSION", VERSION).replace("$ARCH", "amd64").replace("$PLATFORM", "linux-x64")
    text = text.replace("$WHEEL", re.search(r"^WHEEL=(\S+)", text, re.M)[1])
    named = set(re.findall(r'"\$FROM/([^"]+)"', text))
    assert len(named) > 8 and named <= {path.name for path in dist.iterdir()}, named - {path.name for path in dist.iterdir()}


def test_each_way_ends_its_sandboxes_before_it_removes_the_programs():
    for name in "installer", "archive", "debian", "pip", "npm", "krew":
        first, *_, last = block(f"remove {name}").splitlines()
        assert first.endswith("skiff rm --all --everyone --driver box") and last == "rm -rf ~/.local/state/skiff", name
