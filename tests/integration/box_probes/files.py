"""Probes of files, mounts and namespaces."""

import os
import socket
import stat
import struct

from probing import NAMESPACES, OUTSIDE, PLACE, call, probe, reached, readable, writable

# --- files ---

@probe
def secret_of_the_host():
    return readable(*OUTSIDE["files"])


@probe
def homes():
    return readable("/root", "/home/" + OUTSIDE["login"], *[f"/home/{one}" for one in os.listdir("/home") if one != "user"])


@probe
def private_configuration():
    return readable("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh", "/etc/machine-id", "/etc/NetworkManager",
                    "/etc/kubernetes", "/etc/ssl/private", "/etc/cron.d", "/etc/environment", "/etc/systemd", "/etc/docker")


@probe
def directories_of_the_host():
    return readable("/boot", "/mnt", "/media", "/srv", "/var/log", "/var/lib", "/var/run", "/lost+found", "/work", "/data")


@probe
def sockets_of_the_host():
    return readable("/run/docker.sock", "/var/run/docker.sock", "/run/user", "/run/dbus", "/run/systemd", "/tmp/.X11-unix")


@probe
def write_to_the_system():
    return writable("/usr/bin/probe", "/usr/lib/probe", "/etc/probe", "/etc/passwd", "/etc/resolv.conf", "/probe", "/opt/probe",
                    "/bin/sh", "/lib/probe", "/etc/ld.so.cache", "/sys/probe", "/dev/probe", "/dev/pts/probe", "/home/probe",
                    "/var/probe")


@probe
def write_to_the_agent():
    return writable("/.skiff/skiffd", "/proc/1/exe", "/.skiff/probe")


@probe
def change_the_system():
    for change in (lambda: os.chmod("/usr/bin/env", 0o777), lambda: os.utime("/etc/passwd"), lambda: os.unlink("/etc/passwd"),
                   lambda: os.rename("/usr/bin/env", "/usr/bin/env2"), lambda: os.link("/usr/bin/env", PLACE + "/env"),
                   lambda: os.rename("/workspace", "/workspace2"), lambda: os.mkdir("/new"), lambda: os.rmdir("/tmp")):
        try:
            change()
            return "changed"
        except OSError:
            pass
    return ""


@probe
def fill_the_root_directory():
    size = os.statvfs("/").f_blocks * os.statvfs("/").f_frsize
    run = os.statvfs("/run").f_blocks * os.statvfs("/run").f_frsize
    shm = os.statvfs("/dev/shm").f_blocks * os.statvfs("/dev/shm").f_frsize
    return "" if size <= 16 << 20 and run <= 16 << 20 and shm <= 64 << 20 else f"{size} {run} {shm}"


@probe
def leave_by_dots():
    return readable("/workspace/../../../../root", "/proc/self/root/root", "/proc/self/cwd/../../root")


@probe
def set_id_programs():
    for path in ("/usr/bin/su", "/usr/bin/sudo", "/usr/bin/passwd", "/usr/bin/mount"):
        if os.path.exists(path) and not os.statvfs(path).f_flag & os.ST_NOSUID:
            return path
    return ""


@probe
def devices():
    allowed = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm", "mqueue", "fd", "stdin", "stdout", "stderr"}
    return " ".join(set(os.listdir("/dev")) - allowed)


@probe
def nodes():
    for kind, device in ((stat.S_IFCHR, os.makedev(1, 1)), (stat.S_IFBLK, os.makedev(254, 0)), (stat.S_IFCHR, os.makedev(0, 0))):
        try:
            os.mknod(PLACE + "/node", 0o600 | kind, device)
            os.unlink(PLACE + "/node")
            # 0/0 is how an overlay marks what is deleted; any user may make it, and no driver serves it.
            if device:
                return f"{device}"
        except OSError:
            pass
    return ""


# --- files that would work outside, with rights of the user ---

@probe
def set_user_id_by_chmod():
    with open(PLACE + "/suid", "w"):
        pass
    for change in (lambda: os.chmod(PLACE + "/suid", 0o4755), lambda: os.chmod(PLACE + "/suid", 0o2755),
                   lambda: os.fchmod(os.open(PLACE + "/suid", os.O_RDONLY), 0o4755)):
        try:
            change()
        except OSError:
            pass
    mode = os.stat(PLACE + "/suid").st_mode
    os.unlink(PLACE + "/suid")
    return "chmod" if mode & 0o6000 else reached("fchmodat2", -100, os.fsencode(PLACE), 0o4755, 0)


@probe
def set_user_id_at_creation():
    os.umask(0)
    for number, create in enumerate((lambda path: os.open(path, os.O_CREAT | os.O_WRONLY, 0o4755),
                                     lambda path: os.mknod(path, 0o4755 | stat.S_IFREG),
                                     lambda path: os.mkfifo(path, 0o4755))):
        path = f"{PLACE}/made{number}"
        try:
            create(path)
        except OSError:
            continue
        mode = os.stat(path).st_mode
        os.unlink(path)
        if mode & 0o6000:
            return path
    how = struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, 0o4755, 0)
    return reached("openat2", -100, os.fsencode(PLACE + "/made"), how, len(how))


@probe
def set_user_id_of_a_socket():
    one = socket.socket(socket.AF_UNIX)
    try:
        os.fchmod(one.fileno(), 0o4777)
        one.bind(PLACE + "/s")
    except OSError:
        return ""
    return "socket" if os.stat(PLACE + "/s").st_mode & 0o4000 else ""


@probe
def capabilities_of_a_file():
    with open(PLACE + "/capable", "w"):
        pass
    value = struct.pack("<IIIII", 0x02000001, 0xFFFFFFFF, 0, 0xFFFFFFFF, 0)
    return reached("setxattr", os.fsencode(PLACE + "/capable"), b"security.capability", value, len(value), 0)


# --- namespaces and mounts ---

@probe
def mounts():
    return (reached("mount", b"none", b"/workspace", b"tmpfs", 0, None) or reached("mount", b"/usr", b"/workspace", None, 4096, None)
            or reached("mount", None, b"/usr", None, 32 | 4096, None) or reached("umount2", b"/proc", 2)
            or reached("umount2", b"/etc/passwd", 2) or reached("pivot_root", b"/workspace", b"/workspace"))


@probe
def new_mount_calls():
    return (reached("open_tree", -100, b"/", 1) or reached("fsopen", b"tmpfs", 0) or reached("fspick", -100, b"/", 0)
            or reached("mount_setattr", -100, b"/usr", 0, bytes(32), 32) or reached("open_tree_attr", -100, b"/", 1, None, 0)
            or reached("move_mount", -100, b"/usr", -100, b"/workspace", 0))


@probe
def change_root():
    return reached("chroot", b"/workspace")


@probe
def new_namespaces():
    for name, flag in NAMESPACES.items():
        if found := reached("unshare", flag):
            return f"{name} {found}"
    return ""


@probe
def new_namespaces_by_clone():
    for name, flag in NAMESPACES.items():
        if name == "time":
            continue
        result = call("clone", flag | 17, 0, 0, 0, 0)
        if result == 0:
            os._exit(0)
        if result > 0:
            return name
    arguments = struct.pack("8Q", 0x10000000, 0, 0, 0, 17, 0, 0, 0)
    result = call("clone3", arguments, len(arguments))
    if result == 0:
        os._exit(0)
    return "clone3" if result > 0 else ""


@probe
def namespaces_of_others():
    for name in os.listdir("/proc/self/ns"):
        for owner in ("1", "self"):
            try:
                descriptor = os.open(f"/proc/{owner}/ns/{name}", os.O_RDONLY)
            except OSError:
                continue
            if found := reached("setns", descriptor, 0):
                return f"{owner} {name} {found}"
    return ""


@probe
def limits_of_namespaces():
    for name in os.listdir("/proc/sys/user"):
        if name.endswith("_namespaces") and open(f"/proc/sys/user/{name}").read().strip() != "0":
            return name
    return writable("/proc/sys/user/max_user_namespaces")
