"""The container images of a test's cluster, made without a container engine, as archives that `ctr images import` takes.

    skiff.test/pause:1     what holds a pod's namespaces
    skiff.test/skiff:1     skiffd alone, as the Dockerfile's last stage has it
    skiff.test/scratch:1   one static program, /testcmd, and nothing else: no shell, no /tmp, no /etc
    skiff.test/busybox:1   a shell and its tools as most public images have them: a root user, no USER
    skiff.test/user:1      the same with USER 1000

The tag isn't `latest`, so that no pull is tried. An image that nobody has: any other name below skiff.test, which no
resolver knows."""

import hashlib
import io
import json
import pathlib
import re
import struct
import subprocess
import tarfile

HOST = "skiff.test"
PAUSE = f"{HOST}/pause:1"
# The attribute that `setcap cap_net_bind_service=ep` writes (linux/capability.h, struct vfs_cap_data).
NET_BIND_SERVICE = struct.pack("<5I", 0x02000001, 1 << 10, 0, 0, 0)


class Layer:
    """An image's only layer; the same contents give the same bytes."""

    def __init__(self):
        self.bytes = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.bytes, mode="w", format=tarfile.PAX_FORMAT)

    def _add(self, name, kind, mode, content=b"", link="", attributes=None):
        entry = tarfile.TarInfo(name)
        entry.pax_headers = {f"SCHILY.xattr.{key}": value.decode("ascii") for key, value in (attributes or {}).items()}
        entry.type, entry.mode, entry.size, entry.linkname = kind, mode, len(content), link
        self.tar.addfile(entry, io.BytesIO(content))
        return self

    def folder(self, name, mode=0o755):
        return self._add(name, tarfile.DIRTYPE, mode)

    def file(self, name, content, mode=0o644, attributes=None):
        return self._add(name, tarfile.REGTYPE, mode, content, attributes=attributes)

    def link(self, name, target):
        return self._add(name, tarfile.SYMTYPE, 0o777, link=target)

    def done(self):
        self.tar.close()
        return self.bytes.getvalue()


def shell():
    """A layer with busybox, to which more can be added."""
    layer = Layer()
    for name in ("bin", "etc", "root", "home", "var"):
        layer.folder(name)
    layer.folder("tmp", 0o1777)
    with open("/bin/busybox", "rb") as program:
        layer.file("bin/busybox", program.read(), 0o755)
    listed = subprocess.run(["/bin/busybox", "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    for name in sorted(set(listed) - {"busybox"}):
        layer.link(f"bin/{name}", "busybox")
    return layer.file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n").file("etc/group", b"root:x:0:\n")


def add_libraries(layer, *programs):
    """Adds this machine's libraries that programs are linked with, and their loader."""
    needed = subprocess.run(["ldd", *programs], stdout=subprocess.PIPE, text=True, check=True).stdout
    for path in dict.fromkeys(re.findall(r"\s(/lib\S+) \(0x", needed)):
        layer.file(path.lstrip("/"), pathlib.Path(path).read_bytes(), 0o755)


def add_tree(layer, source, name):
    """Adds a directory's files and directories as `name`, without links and without what Python has compiled."""
    layer.folder(name)
    for path in sorted(source.rglob("*")):
        if "__pycache__" in path.parts or path.is_symlink():
            continue
        inside = f"{name}/{path.relative_to(source)}"
        layer.folder(inside) if path.is_dir() else layer.file(inside, path.read_bytes())


def launcher(skiff):
    """The program and nothing else, as the Dockerfile's stage `serve` has it."""
    layer = Layer()
    for name in ("usr", "usr/local", "usr/local/bin"):
        layer.folder(name)
    return layer.file("usr/local/bin/skiff", skiff.read_bytes(), 0o755).done()


def python(*more):
    """A layer with a shell and Debian's Python, to which more can be added. `more`: programs whose libraries are in it, too."""
    layer = shell()
    for name in ("lib", "lib/x86_64-linux-gnu", "lib64", "usr", "usr/bin", "usr/lib"):
        layer.folder(name)
    program = pathlib.Path("/usr/bin/python3").resolve()
    add_libraries(layer, program, *more)
    layer.file("usr/bin/python3", program.read_bytes(), 0o755).link("usr/bin/python", "python3")
    add_tree(layer, pathlib.Path("/usr/lib") / program.name, f"usr/lib/{program.name}")
    return layer


def pause(folder):
    program = folder / "pause"
    subprocess.run(["clang-19", "-O1", "-static", "-o", program, "pause.c"], cwd=__file__.rpartition("/")[0], check=True)
    return Layer().file("pause", program.read_bytes(), 0o755).done()


def write(archive, name, layer, configuration):
    """A docker-archive of one image with one layer."""
    image = json.dumps({
        "architecture": "amd64", "os": "linux", "config": configuration, "history": [{}],
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }).encode()
    description = f"{hashlib.sha256(image).hexdigest()}.json"
    manifest = [{"Config": description, "RepoTags": [name], "Layers": ["layer.tar"]}]
    parts = Layer().file("manifest.json", json.dumps(manifest).encode()).file(description, image).file("layer.tar", layer)
    archive.write_bytes(parts.done())


def make(folder, skiffd=None, testcmd=None):
    """Writes the archives. Those of our own programs are made when the programs are given."""
    folder.mkdir()
    path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    busybox = shell().done()
    write(folder / "pause.tar", PAUSE, pause(folder), {"Entrypoint": ["/pause"]})
    write(folder / "busybox.tar", f"{HOST}/busybox:1", busybox, {"Cmd": ["sh"], "Env": [path]})
    write(folder / "user.tar", f"{HOST}/user:1", busybox, {"Cmd": ["sh"], "Env": [path], "User": "1000"})
    if skiffd:
        write(folder / "skiff.tar", f"{HOST}/skiff:1", Layer().file("skiffd", skiffd.read_bytes(), 0o755).done(),
              {"Entrypoint": ["/skiffd"], "User": "1000:1000", "ExposedPorts": {"7070/tcp": {}}})
    if testcmd:
        write(folder / "scratch.tar", f"{HOST}/scratch:1", Layer().file("testcmd", testcmd.read_bytes(), 0o755).done(),
              {"Entrypoint": ["/testcmd"]})
