"""Images built by buildah and run by runc, both from Debian: no engine, no registry, nothing left on the machine.

A container runs as a careful cluster would run it: a user without a passwd entry, a read-only root, no capabilities, no
new privileges, the default system call filter, namespaces of its own (also for the network: only its loopback is up)."""

import contextlib
import ctypes
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading

CLONE_NEWNET = 0x40000000
NAMESPACE_FLAGS = 0x7E020000
ENOSYS, EPERM = 38, 1
libc = ctypes.CDLL(None, use_errno=True)


class CannotRun(Exception):
    """buildah or runc can't work on this machine; the message says why."""


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, **options)
    if done.returncode != 0:
        raise CannotRun(f"{' '.join(map(str, command))}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


class Store:
    """buildah with all of its state in one directory."""

    def __init__(self, folder):
        self.folder = folder

    def buildah(self, *arguments):
        # vfs: no overlay mounts, so nothing to unmount; chroot: needs neither a runtime nor a network of its own.
        return run("buildah", "--root", self.folder / "root", "--runroot", self.folder / "run", "--storage-driver", "vfs",
                   "--registries-conf", "/dev/null", *arguments)

    def build(self, dockerfile, target=None, contexts=None, tag=None):
        """Builds `target` of the Dockerfile, or its last stage; each of `contexts` stands for the stage of that name. Returns
        the image's configuration."""
        extra = [f"--build-context={name}={folder}" for name, folder in (contexts or {}).items()]
        extra += ["--target", target] if target else []
        self.buildah("build", "--isolation", "chroot", "--format", "docker", "--file", dockerfile, "--tag", tag or target,
                     *extra, dockerfile.parent)
        return json.loads(self.buildah("inspect", "--type", "image", tag or target))["OCIv1"]["config"]

    def make(self, image, files):
        """An image without a Dockerfile, of `files`: {path in it: path here}."""
        container = self.buildah("from", "scratch").strip()
        for target, source in files.items():
            self.buildah("copy", container, source, target)
        self.buildah("commit", container, image)
        self.buildah("rm", container)

    def unpack(self, image, folder):
        """The image's file system, copied to `folder`."""
        container = self.buildah("from", "--pull-never", image).strip()
        try:
            shutil.copytree(self.buildah("mount", container).strip(), folder, symlinks=True)
            self.buildah("umount", container)
        finally:
            self.buildah("rm", container)


def default_seccomp_profile():
    """The effect of containerd's and Docker's default profile on a process without capabilities. Its long list of harmless
    calls is read from Debian's package (podman's profile); what podman allows beyond that is taken away here."""
    listed = json.loads(pathlib.Path("/usr/share/containers/seccomp.json").read_text())
    beyond = {"clone", "clone3", "unshare", "setns", "mount", "mount_setattr", "move_mount", "open_tree", "pivot_root", "umount",
              "umount2", "fsconfig", "fsmount", "fsopen", "fspick", "keyctl", "add_key", "request_key", "mbind", "get_mempolicy",
              "set_mempolicy", "pidfd_getfd", "reboot", "syslog", "socket", "timerfd", "syscall", "signal", "remap_file_pages"}
    allowed = {"arch_prctl", "modify_ldt", "futex_waitv", "io_pgetevents", "vmsplice"}
    rules = []
    for rule in listed["syscalls"]:
        if rule["action"] != "SCMP_ACT_ALLOW" or rule.get("includes"):
            continue
        if rule.get("args"):
            if rule["names"] != ["socket"]:
                rules.append({key: rule[key] for key in ("names", "action", "args")})
        else:
            allowed.update(rule["names"])
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": EPERM,
        "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
        "syscalls": rules + [
            {"names": sorted(allowed - beyond), "action": "SCMP_ACT_ALLOW"},
            {"names": ["socket"], "action": "SCMP_ACT_ALLOW",
             "args": [{"index": 0, "value": socket.AF_VSOCK, "op": "SCMP_CMP_NE"}]},
            {"names": ["clone"], "action": "SCMP_ACT_ALLOW",
             "args": [{"index": 0, "value": NAMESPACE_FLAGS, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}]},
            {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": ENOSYS},
        ],
    }


def specification(rootfs, image, arguments, environment, mounts):
    """The OCI runtime's configuration of one container of `image`."""
    uid, gid = map(int, image.get("User", "0:0").split(":"))
    return {
        "ociVersion": "1.0.2",
        "hostname": "image-test",
        "root": {"path": str(rootfs), "readonly": True},
        "process": {
            "args": [*image["Entrypoint"], *map(str, arguments)],
            "cwd": image.get("WorkingDir") or "/",
            "env": [*image.get("Env", []), *(f"{name}={value}" for name, value in environment.items())],
            "user": {"uid": uid, "gid": gid},
            "noNewPrivileges": True,
            "capabilities": {},
        },
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc", "options": ["nosuid", "noexec", "nodev"]},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755", "size=65536k"]},
            {"destination": "/dev/pts", "type": "devpts", "source": "devpts", "options": ["nosuid", "noexec", "newinstance", "ptmxmode=0666"]},
            {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev", "mode=1777", "size=64m"]},
            *mounts,
        ],
        "linux": {
            "namespaces": [{"type": kind} for kind in ("pid", "network", "ipc", "uts", "mount")],
            "maskedPaths": ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/sys/firmware"],
            "readonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"],
            "seccomp": default_seccomp_profile(),
        },
    }


def socket_in_network_of(pid, address):
    """A TCP connection made inside the network namespace of `pid`. Namespaces are a thread's: one thread goes there, and
    the socket it makes stays there when it is used from here."""
    result = []

    def connect():
        try:
            with open(f"/proc/{pid}/ns/net") as namespace:
                if libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), "setns")
            result.append(socket.create_connection(address, timeout=30))
        except OSError as error:
            result.append(error)

    thread = threading.Thread(target=connect)
    thread.start()
    thread.join()
    if isinstance(result[0], OSError):
        raise result[0]
    return result[0]


class Container:
    """A running container. Its process is PID 1 of its own; `wait()` gives that one's exit status."""

    def __init__(self, folder, name, specification):
        self.folder, self.name = folder, name
        self.state = folder / "runc"
        bundle = folder / "bundle"
        bundle.mkdir()
        # At the top of cgroup version 1 or 2, wherever this process is: where its name is looked for when it has gone.
        specification["linux"]["cgroupsPath"] = f"/{name}"
        (bundle / "config.json").write_text(json.dumps(specification))
        with open(folder / "stderr", "wb") as log:
            # In the foreground: runc hands signals on, and ends with the container's status.
            self.process = subprocess.Popen(["runc", "--root", self.state, "run", "--bundle", bundle, name],
                                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)

    @property
    def pid(self):
        """Seen from outside, while it runs."""
        return json.loads(run("runc", "--root", self.state, "state", self.name))["pid"]

    def line(self):
        """The next line of its standard output."""
        return self.process.stdout.readline().decode().rstrip("\n")

    def stderr(self):
        return (self.folder / "stderr").read_text(errors="replace")

    def request(self, method, path, body=None, headers=(), port=7070):
        """One HTTP request from inside its network. Returns status, headers and body (with `trailers` in neither)."""
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.sock = socket_in_network_of(self.pid, ("127.0.0.1", port))
        with contextlib.closing(connection):
            connection.request(method, path, body=body, headers=dict(headers))
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def wait(self, seconds=30):
        return self.process.wait(seconds)

    def remove(self):
        """Ends it and removes every trace: safe at any time, also after it has ended by itself."""
        with contextlib.suppress(Exception):
            run("runc", "--root", self.state, "delete", "--force", self.name)
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def why_not():
    """Why no container can run here, or None."""
    if os.geteuid() != 0:
        return "runc needs root for a container whose network is its own"
    for tool in ("buildah", "runc"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed (.ci/setup --tests installs it)"
    if not os.path.exists("/usr/share/containers/seccomp.json"):
        return "golang-github-containers-common is not installed (.ci/setup --tests installs it)"
    return None
