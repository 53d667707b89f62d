"""The manifest of a release, installed by krew itself: `kubectl skiff`."""

import os
import pathlib
import subprocess
import sys

import pytest

from installed import all_versions, go_program

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parents[1] / "release"), str(HERE.parents[1] / "kubernetes/cluster")]
import build  # noqa: E402
from made import VERSION, make, one  # noqa: E402

pytestmark = [pytest.mark.skipif(not all_versions(), reason="krew is tried at night"),
              pytest.mark.skipif(not build.kube_folder().exists(), reason="kubectl is not built: run .ci/setup --cluster")]


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    return make(tmp_path_factory.mktemp("dist"), "amd64")


@pytest.fixture
def environment(tmp_path):
    """Variables with which krew has directories of its own, an index of plugins that has none, and kubectl finds what krew installs."""
    index = tmp_path / "index"
    (index / "plugins").mkdir(parents=True)
    (index / "plugins/.keep").touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/kubectl").symlink_to(build.kube())
    made = {"HOME": str(tmp_path), "KREW_ROOT": str(tmp_path / "krew"), "KREW_DEFAULT_INDEX_URI": f"file://{index}", "KREW_NO_UPGRADE_CHECK": "1",
            "PATH": f"{tmp_path}/krew/bin:{tmp_path}/bin:{os.defpath}"}
    author = ("-c", "user.name=test", "-c", "user.email=test@invalid")
    for words in ("init", "--quiet"), ("add", "."), (*author, "commit", "--quiet", "--message=index"):
        subprocess.run(["git", *words], cwd=index, env=made, check=True)
    return made


def run(environment, *words):
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def test_krew_installs_the_plugin_and_removes_it(dist, environment, tmp_path):
    krew = go_program(HERE, "sigs.k8s.io/krew/cmd/krew")
    run(environment, krew, "update")
    run(environment, krew, "install", f"--manifest={dist}/skiff-krew.yaml", f"--archive={one(dist, 'skiff-*-linux-amd64.tar.gz')}")
    assert run(environment, "kubectl", "skiff", "version") == f"skiff {VERSION}\n"
    assert run(environment, krew, "list").split()[-1:] == ["detached/skiff"]  # which is in no index
    run(environment, krew, "uninstall", "skiff")
    assert [path for path in (tmp_path / "krew").rglob("*") if "skiff" in path.name] == []
