"""A real `skiff` with the driver docker and a real engine: podman by its own command line and by docker's.

The engine has its storage, its settings and its network in a directory and in namespaces of the test's process, so nothing of
it is on the machine. Images are made here, without a registry."""

import contextlib
import ctypes
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

import pytest

import proc
from launcher import ENGINE, Skiff
from waiting import until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "kubernetes/cluster"))
import cgroups  # noqa: E402
import images  # noqa: E402

CLONE_NEWNS, CLONE_NEWNET = 0x00020000, 0x40000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
IMAGE, WITH_USER, PYTHON = f"{images.HOST}/busybox:1", f"{images.HOST}/user:1", f"{images.HOST}/python:1"
PARENT = "libpod_parent"
libc = ctypes.CDLL(None, use_errno=True)


def called(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def move_away():
    """Gives this process a network of its own, and mounts that nobody else sees."""
    called(libc.unshare(CLONE_NEWNS | CLONE_NEWNET))
    called(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None))
    # Where the engine keeps locks, addresses and network namespaces, whatever its storage is.
    for folder in ("/var/lib/cni", "/dev/shm", "/run/netns", "/run/libpod", "/run/containers"):
        if os.path.isdir(folder):
            called(libc.mount(b"none", folder.encode(), b"tmpfs", 0, b"size=64m,mode=755"))
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def why_not():
    if os.geteuid() != 0:
        return "these tests need root"
    for program in ("podman", "runc", "iptables"):
        if not shutil.which(program):
            return f"{program} is not installed"
    return None


class Podman:
    """An engine whose state is one directory."""

    def __init__(self, folder):
        self.folder = folder
        most = min(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        processes = resource.getrlimit(resource.RLIMIT_NPROC)[1]
        most_processes = 9000 if processes == resource.RLIM_INFINITY else min(9000, processes)
        (folder / "containers.conf").write_text(
            f'[containers]\ndefault_ulimits = ["nofile={most}:{most}", "nproc={most_processes}:{most_processes}"]\n'
            f'[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "none"\nruntime = "runc"\ntmp_dir = "{folder}/tmp"\n')
        (folder / "storage.conf").write_text(
            f'[storage]\ndriver = "overlay"\ngraphroot = "{folder}/graph"\nrunroot = "{folder}/run"\n')
        self.variables = {"CONTAINERS_CONF": str(folder / "containers.conf"),
                          "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf")}

    def __call__(self, *arguments, check=True):
        done = subprocess.run(["podman", *arguments], env={**os.environ, **self.variables}, capture_output=True, text=True)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    def load(self):
        made = self.folder / "images"
        images.make(made)
        images.write(made / "python.tar", PYTHON, images.python().done(), {"Env": ["PATH=/usr/bin:/bin"]})
        for name in ("busybox", "user", "python"):
            self("load", "-i", made / f"{name}.tar")
        shutil.rmtree(made)

    def remove(self):
        self("rm", "--all", "--force", check=False)
        self("rmi", "--all", "--force", check=False)
        for mounted in [line.split()[1] for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()][::-1]:
            if mounted.startswith(f"{self.folder}/"):
                libc.umount2(mounted.encode(), 2)
        for group in cgroups.of(PARENT):
            with contextlib.suppress(OSError):  # another test's engine has a container in it
                group.rmdir()


@pytest.fixture(scope="session")
def podman():
    if reason := why_not():
        pytest.skip(f"not run: {reason}")
    move_away()
    with tempfile.TemporaryDirectory(prefix="skiff-engine-", ignore_cleanup_errors=True) as folder:
        one = Podman(pathlib.Path(folder))
        one.load()
        yield one
        one.remove()


@pytest.fixture(scope="session")
def by_docker(podman):
    """The variables by which docker's command line speaks to podman."""
    if not shutil.which("docker"):
        pytest.skip("not run: docker's command line is not installed")
    socket = podman.folder / "api.sock"
    service = subprocess.Popen(["podman", "system", "service", "--time=0", f"unix://{socket}"],
                               env={**os.environ, **podman.variables}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(socket.exists)
        yield {"SKIFF_ENGINE": "docker", "DOCKER_HOST": f"unix://{socket}", "DOCKER_CONFIG": str(podman.folder)}
    finally:
        service.terminate()
        service.wait()


class EngineSkiff(Skiff):
    def __init__(self, folder, podman, variables):
        super().__init__(folder)
        self.podman, self.variables = podman, {**podman.variables, **variables}
        self.sandboxes = self.state / "skiff/docker"
        self.others = {}
        self.others = self.containers()

    def environment(self, **more):
        return super().environment(**{"SKIFF_DRIVER": "docker", "SKIFF_IMAGE": IMAGE, **self.variables, **more})

    def sh(self, script, name="box", **options):
        """The output of a shell line in the container."""
        return self("exec", name, "--", "sh", "-c", script, **options)[0]

    def root(self, name="box"):
        """The working directory of a container that runs, as the machine sees it."""
        file = self.sandboxes / name / "record.json"
        pid = json.loads(file.read_text())["pid"] if file.exists() else 0
        return pathlib.Path(f"/proc/{pid}/root/workspace")

    def containers(self):
        """{id: name} of the engine's containers, but for those that were there before this launcher."""
        lines = self.podman("ps", "--all", "--no-trunc", "--format", "{{.ID}} {{.Names}}").splitlines()
        return {id: name for id, name in map(str.split, lines) if id not in self.others}

    def processes(self):
        """The processes of all containers, and others that belong to the launcher's directories but for the engine's monitors."""
        running = map(str.split, self.podman("ps", "--no-trunc", "--format", "{{.ID}} {{.Pid}}").splitlines())
        firsts = [pid for id, pid in running if id not in self.others]
        inside = {pid: proc.command_line(pid) for pid in proc.in_pid_namespaces_of(firsts)}
        return {pid: line for pid, line in super().processes().items() if "/conmon " not in line} | inside

    def finish(self):
        super().finish()
        assert self.containers() == {}


def launcher(engine, folder, request):
    """A launcher of the engine's containers, by podman's or docker's command line."""
    variables = request.getfixturevalue("by_docker") if engine == "docker" else {"SKIFF_ENGINE": "podman"}
    return EngineSkiff(folder, request.getfixturevalue("podman"), variables)


def suite_launcher(request, folder):
    """The one of the suites of this machine. Their tests make files as root: its agents are root of an image, too. Some run Python."""
    one = launcher(ENGINE, folder, request)
    one.variables |= {"SKIFF_RUN_AS": "image", "SKIFF_IMAGE": PYTHON}
    return one


@pytest.fixture(params=os.environ.get("SKIFF_ENGINES", "podman,docker").split(","))
def skiff(request, tmp_path):
    """One for each command line of the engine."""
    one = launcher(request.param, tmp_path, request)
    yield one
    one.finish()
