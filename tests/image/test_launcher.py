"""The launcher's image runs `skiff` as deploy/'s CronJob does.

There is no registry here, so debian:12-slim is an image of this machine's C library, which is Debian's: it holds what skiff
needs of it and nothing else."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import TREE
from container import Container, specification

# An OpenSSL of Debian's reads its authorities from here.
AUTHORITIES = "usr/lib/ssl/cert.pem"


def libraries(program):
    """{path in an image: path here} of what the program is linked with, its loader too."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return {path: os.path.realpath(path) for path in re.findall(r"(/\S+) \(0x", listed)}


@pytest.fixture(scope="module")
def launcher(engine, scratch):
    """The image's configuration and the directory with its file system."""
    built = scratch / "built-launcher"
    (built / "out").mkdir(parents=True)
    shutil.copy(os.environ["SKIFF"], built / "out/skiff")
    shutil.copy("/etc/ssl/certs/ca-certificates.crt", built / "out")
    engine.make("debian:12-slim", libraries(os.environ["SKIFF"]))
    configuration = engine.build(TREE / "Dockerfile", "launcher", {"build-skiff": built})
    engine.unpack("launcher", scratch / "launcher")
    return configuration, scratch / "launcher"


@pytest.fixture
def run(launcher, tmp_path):
    """`run(*arguments)`: status and output of a container of the image, with a read-only root and no rights."""
    configuration, rootfs = launcher
    count = 0

    def run_one(*arguments):
        nonlocal count
        count += 1
        folder = tmp_path / f"container{count}"
        folder.mkdir()
        own = folder / "rootfs"
        shutil.copytree(rootfs, own, symlinks=True)
        container = Container(folder, f"skiff-launcher-{os.getpid()}-{count}", specification(own, configuration, arguments, {}, []))
        try:
            status = container.wait()
            return status, container.process.stdout.read().decode(), container.stderr()
        finally:
            container.remove()
            shutil.rmtree(folder)

    return run_one


def cron_job():
    """Image and arguments of the CronJob's container, and whether it says what to run instead of the image's entrypoint."""
    text = (TREE / "deploy/base/gc-cronjob.yaml").read_text()
    arguments = re.search(r"args: \[(.*)\]", text).group(1)
    return re.search(r"image: (\S+)", text).group(1), re.findall(r'"([^"]*)"', arguments), "command:" in text


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


def test_the_cron_job_of_deploy_is_taken_as_it_stands(run):
    image, arguments, has_command = cron_job()
    # RFC 2606: nobody can register a name below .invalid, so nobody else's image runs where no overlay says which.
    assert (image, arguments[0], has_command) == ("registry.invalid/skiff", "gc", False)
    status, out, err = run(*arguments, "--help")
    assert status == 0 and out.startswith("usage: skiff gc "), (out, err)
    # Without a cluster around it, it says so and fails: nothing of the command line is what it stumbles over.
    status, out, err = run(*arguments)
    assert status == 125 and "cluster" in err and "--" not in err.partition(":")[0], (out, err)
