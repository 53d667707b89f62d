"""The launcher's images run `skiff` as deploy/'s CronJob and its server do.
"""

import os
import pathlib
import shutil

import pytest
import yaml

from conftest import TREE
from container import Container, specification

# An OpenSSL of Debian's reads its authorities from here.
AUTHORITIES = "usr/lib/ssl/cert.pem"


@pytest.fixture(scope="module", params=["launcher", "serve"])
def launcher(engine, scratch, request):
    """The image's configuration and the directory with its file system."""
    target = request.param
    built = scratch / f"built-{target}"
    (built / "out").mkdir(parents=True)
    shutil.copy(os.environ["SKIFF"], built / "out/skiff")
    shutil.copy("/etc/ssl/certs/ca-certificates.crt", built / "out")
    configuration = engine.build(TREE / "Dockerfile", target, {"build-skiff": built})
    engine.unpack(target, scratch / target)
    return configuration, scratch / target


@pytest.fixture
def run(launcher, tmp_path):
    """`run(*arguments)`: status and output of a container of the image, with a read-only root and no rights."""
    configuration, rootfs = launcher
    count = 0

    def run_one(*arguments, **environment):
        nonlocal count
        count += 1
        folder = tmp_path / f"container{count}"
        folder.mkdir()
        own = folder / "rootfs"
        shutil.copytree(rootfs, own, symlinks=True)
        container = Container(folder, f"skiff-launcher-{os.getpid()}-{count}", specification(own, configuration, arguments, environment, []))
        try:
            status = container.wait()
            return status, container.process.stdout.read().decode(), container.stderr()
        finally:
            container.remove()
            shutil.rmtree(folder)

    return run_one


def container_of(file):
    """The only one of deploy/'s CronJob, or of its server."""
    [thing] = yaml.safe_load_all((TREE / file).read_text())
    if thing["kind"] == "CronJob":
        thing = thing["spec"]["jobTemplate"]
    [container] = thing["spec"]["template"]["spec"]["containers"]
    return container


def test_it_is_not_root_and_starts_skiff(launcher):
    configuration, rootfs = launcher
    assert (configuration["User"], configuration["Entrypoint"]) == ("1000:1000", ["/usr/local/bin/skiff"])
    assert (rootfs / "usr/local/bin/skiff").stat().st_mode & 0o777 == 0o755
    assert (rootfs / AUTHORITIES).read_bytes() == pathlib.Path("/etc/ssl/certs/ca-certificates.crt").read_bytes()


def test_it_carries_its_licences(launcher):
    for name in ("LICENSE", "NOTICE"):
        assert (launcher[1] / "licenses" / name).read_bytes() == (TREE / name).read_bytes()


def test_it_says_its_version(run):
    status, out, err = run("version")
    assert status == 0 and out.startswith("skiff "), (out, err)


@pytest.mark.parametrize("file", ["deploy/base/gc-cronjob.yaml", "deploy/serve/deployment.yaml"])
def test_what_deploy_runs_is_taken_as_it_stands(run, file):
    container = container_of(file)
    arguments = container["args"]
    # RFC 2606: nobody can register a name below .invalid, so nobody else's image runs where no overlay says which.
    assert container["image"] == "registry.invalid/skiff" and "command" not in container
    status, out, err = run(*arguments, "--help")
    assert status == 0 and out.startswith(f"usage: skiff {arguments[0]} "), (out, err)
    # Without a cluster around it, it says so and fails: nothing of the command line is what it stumbles over.
    status, out, err = run(*arguments, **{one["name"]: one["value"] for one in container.get("env", [])})
    assert status == 125 and "cluster" in err and "--" not in err.partition(":")[0], (out, err)
