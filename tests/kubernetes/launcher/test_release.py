"""The images and the chart of a release, pushed with skopeo to a registry, as docs/releasing.md says it: the node pulls them from
there, and helm installs from there. The registry is Docker's, from Debian."""

import contextlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import pytest

import build
import cluster as clusters
from deployed import Deployed
from skiff import BUSYBOX, Skiff
from waiting import until

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "release"))
from made import QEMU, VERSION, architectures, make, one  # noqa: E402

MISSING = [program for program in ("skopeo", "docker-registry") if shutil.which(program) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f".ci/setup --nightly has not installed {', '.join(MISSING)}")

CHART = "charts/skiff-serve"
HOME, TENANT = "released", "released-sandboxes"
# How the kernel knows a program for arm64 (linux/elf.h: 64 bits, little-endian, EM_AARCH64), and what runs it: the interpreter is opened
# when it is registered (F), so that it is there behind a change of the root directory, too.
BINFMT = (r":skiff:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:"
          rf"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:{QEMU}:F")


@pytest.fixture(scope="session")
def cluster():
    with clusters.running() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory(prefix="skiff-") as made:
        yield pathlib.Path(made)


@pytest.fixture(scope="module")
def dist(folder):
    (folder / "dist").mkdir()
    return make(folder / "dist", *architectures())


class Registry:
    """One in the node's network. It keeps what it has in `folder`."""

    def __init__(self, cluster, folder):
        self.cluster, config = cluster, folder / "registry.json"
        config.write_text(json.dumps({"version": "0.1", "storage": {"filesystem": {"rootdirectory": str(folder / "registry")}},
                                      "http": {"addr": "127.0.0.1:0"}, "log": {"formatter": "json", "accesslog": {"disabled": True}}}))
        self.log = open(folder / "registry.log", "wb+")
        self.process = subprocess.Popen(cluster.in_its_network("docker-registry", "serve", config), stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log)
        self.host = until(self.listening, 60, "a registry", every=0.05)

    def listening(self):
        assert self.process.poll() is None
        found = re.search(r"listening on (127\.0\.0\.1:\d+)", pathlib.Path(self.log.name).read_text())
        return found and found[1]

    def push(self, archive, name):
        """As the checklist of a release does it."""
        done = subprocess.run(self.cluster.in_its_network(
            "skopeo", "--insecure-policy", "copy", "--quiet", "--all", "--preserve-digests", "--dest-tls-verify=false",
            f"oci-archive:{archive}", f"docker://{self.host}/{name}:{VERSION}"), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.log.close()


@pytest.fixture(scope="module")
def registry(cluster, dist, folder):
    served = Registry(cluster, folder)
    try:
        for name, pattern in (("skiff", "skiff-*-image.tar"), ("skiffd", "skiffd-*-image.tar"), (CHART, "skiff-serve-*-chart.tar")):
            served.push(one(dist, pattern), name)
        yield served
    finally:
        served.stop()


def test_a_sandbox_is_made_with_the_image_of_the_registry(registry, skiff):
    image = f"{registry.host}/skiffd:{VERSION}"
    assert skiff("run", "--agent-image", image, "--image", BUSYBOX, "--", "echo", "hello")[0] == "hello\n"
    # The node runs the image that the release has.
    known = skiff.cluster.inside("ctr", "--namespace=k8s.io", "images", "list", f"name=={image}")
    assert image in known and "application/vnd.oci.image.index.v1+json" in known


def test_the_image_for_arm64_starts_where_an_emulator_is(registry, cluster, tmp_path):
    if "arm64" not in architectures() or QEMU is None:
        pytest.skip("build/release-arm64 is not built, or there is no qemu-aarch64-static")
    platform = ("--platform", "linux/arm64")
    for name, program in (("skiffd", "/skiffd"), ("skiff", "/usr/local/bin/skiff")):
        image, root = f"{registry.host}/{name}:{VERSION}", tmp_path / name
        root.mkdir()
        cluster.inside("ctr", "--namespace=k8s.io", "images", "pull", "--plain-http", *platform, image)
        cluster.inside("ctr", "--namespace=k8s.io", "images", "mount", *platform, image, root)
        try:
            # A user namespace has formats of its own: the machine's stay as they are.
            told = cluster.inside("unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                                  'mount -t binfmt_misc none /mnt && printf %s "$1" >/mnt/register && exec chroot "$2" "$3" version',
                                  "sh", BINFMT, root, program)
            assert told == f"{name} {VERSION}\n"
        finally:
            cluster.inside("ctr", "--namespace=k8s.io", "images", "unmount", root)


def helm(cluster, home, *words):
    """Runs helm where the registry is; its output."""
    done = subprocess.run(cluster.in_its_network(build.helm(), *words), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180,
                          env={"HOME": str(home), "PATH": "/usr/bin:/bin", "KUBECONFIG": str(cluster.folder / "admin.conf")})
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_the_chart_is_installed_from_the_registry(registry, cluster, folder, tmp_path):
    chart = ("released", f"oci://{registry.host}/{CHART}", "--version", VERSION, "--plain-http", "--namespace", HOME)
    values = ("--set", f"image={registry.host}/skiff:{VERSION},agentImage={registry.host}/skiffd:{VERSION}",
              "--set", f"replicas=1,tenants={{{TENANT}}},args={{--image={BUSYBOX}}}")
    helm(cluster, folder, "install", *chart, *values, "--create-namespace", "--wait", "--timeout", "120s")
    try:
        server = Deployed(cluster, HOME, TENANT)
        until(server.is_reached, 60, "the Service", every=0.1)
        key = Skiff(tmp_path, server.home)("key", "create", "me", "--tenant", TENANT)[0].strip()
        made = json.loads(server.curl("POST", "/v1/sandboxes", key, "{}", status=201))["id"]
        assert server.curl("POST", f"/s/{made}/7070/v1/run", key, "echo hello", "application/octet-stream") == "hello\n"
        server.curl("DELETE", f"/v1/sandboxes/{made}", key, status=204)
        until(lambda: server.tenant.of_skiff() == [], 60, "nothing of it", every=0.1)
    finally:
        helm(cluster, folder, "uninstall", "released", "--namespace", HOME)
        with contextlib.suppress(AssertionError):
            cluster.kubectl("delete", "namespace", HOME, TENANT, "--wait=false", "--ignore-not-found")
