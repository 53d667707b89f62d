"""Fixtures: the Dockerfile's last stage built once from the binary that SKIFFD names, and containers of it."""

import json
import os
import pathlib
import shutil

import pytest

from container import CannotRun, Container, Store, run, specification, why_not

TREE = pathlib.Path(__file__).resolve().parents[2]
TOKEN = "image-test-token"


def probe(folder):
    """Proves that buildah and runc work at all on this machine, with a busybox in place of everything of ours."""
    Store(folder / "store").buildah("from", "scratch")
    rootfs = folder / "rootfs"
    rootfs.mkdir()
    shutil.copy("/bin/busybox", rootfs / "busybox")
    image = {"User": "1000:1000", "Entrypoint": ["/busybox"]}
    container = Container(folder, f"skiff-probe-{os.getpid()}", specification(rootfs, image, ["true"], {}, []))
    try:
        if container.wait() != 0:
            raise CannotRun(f"runc: {container.stderr().strip()}")
    finally:
        container.remove()


@pytest.fixture(scope="session")
def scratch(tmp_path_factory):
    """A directory that is gone at the end, whatever the images in it weigh."""
    folder = tmp_path_factory.mktemp("image")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def engine(scratch):
    reason = why_not()
    if reason is None:
        (scratch / "probe").mkdir()
        try:
            probe(scratch / "probe")
        except CannotRun as error:
            reason = str(error)
    if reason is not None:
        pytest.skip(f"no containers here: {reason}")
    return Store(scratch / "store")


@pytest.fixture(scope="session")
def image(engine, scratch):
    """The image's configuration and the directory with its file system."""
    built = scratch / "built"
    (built / "out").mkdir(parents=True)
    shutil.copy(os.environ["SKIFFD"], built / "out/skiffd")
    configuration = engine.build(TREE / "Dockerfile", "skiffd", {"build-skiffd": built})
    engine.unpack("skiffd", scratch / "rootfs")
    return configuration, scratch / "rootfs"


@pytest.fixture(scope="session")
def busybox(scratch):
    """A directory of programs, to mount over /bin: what an image with a shell has."""
    folder = scratch / "bin"
    folder.mkdir()
    shutil.copy("/bin/busybox", folder / "busybox")
    for name in run(folder / "busybox", "--list").split():
        if name != "busybox":
            (folder / name).symlink_to("busybox")
    return {"destination": "/bin", "type": "bind", "source": str(folder), "options": ["rbind", "ro"]}


@pytest.fixture
def start(image, tmp_path, request):
    """`start(*arguments, mounts=[], image=..., **environment)`: a container of the agent's image or of another one. Each is
    gone at the end, its log printed."""
    containers = []

    def start_one(*arguments, mounts=(), image=image, **environment):
        configuration, rootfs = image
        folder = tmp_path / f"container{len(containers)}"
        folder.mkdir()
        name = f"skiff-image-{os.getpid()}-{len(containers)}"
        own = folder / "rootfs"  # runc creates the directories to mount on in it
        shutil.copytree(rootfs, own)
        container = Container(folder, name, specification(own, configuration, arguments, environment, list(mounts)))
        containers.append(container)
        return container

    yield start_one
    for container in containers:
        print(f"{container.name}: {container.stderr()}")
        container.remove()
        shutil.rmtree(container.folder)


@pytest.fixture
def agent(start, busybox):
    """A container whose skiffd accepts connections, in an image with a shell, and a way to talk to it."""
    container = start(mounts=[busybox], SKIFF_TOKEN=TOKEN)
    assert container.line() == "skiffd listening on http://[::]:7070", container.stderr()
    return Agent(container)


class Agent:
    def __init__(self, container):
        self.container = container

    def request(self, method, path, body=None):
        headers = {"Authorization": f"Bearer {TOKEN}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(body)
        return self.container.request(method, path, body, headers)

    def run(self, command=None, **fields):
        """Runs a command in mode `wait`; its result."""
        status, _, body = self.request("POST", "/v1/commands", {**({"command": command} if command else {}), **fields})
        assert status == 200, body
        return json.loads(body)
