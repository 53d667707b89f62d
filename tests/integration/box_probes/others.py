"""Probes of the host's processes, of networks and of terminals."""

import errno
import os
import socket
import struct

from probing import LIBC, OUTSIDE, probe, readable

# --- processes of the host ---

@probe
def processes_of_the_host():
    seen = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return str(len(seen)) if len(seen) > 20 else ""


@probe
def signal_the_host():
    for pid in OUTSIDE["pids"]:
        try:
            os.kill(pid, 0)
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if b"skiff" in file.read():
                    return str(pid)
        except OSError:
            pass
    return ""


@probe
def memory_of_the_host():
    return readable("/proc/sysvipc/../../proc/1/mem") or ("" if len(open("/proc/sysvipc/shm").readlines()) == 1 else "shared memory")


# --- network ---

@probe
def interfaces():
    return " ".join(name for _, name in socket.if_nameindex() if name != "lo")


@probe
def ports_of_the_host():
    for host, port in OUTSIDE["ports"]:
        one = socket.socket(socket.AF_INET)
        one.settimeout(2)
        try:
            one.connect((host, port))
            return f"{host}:{port}"
        except OSError:
            pass
    return ""


@probe
def fifos_of_the_host():
    for path in OUTSIDE["fifos"]:
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
            return path
        except OSError:
            pass
    return ""


@probe
def abstract_sockets():
    for name in OUTSIDE["abstract"]:
        one = socket.socket(socket.AF_UNIX)
        try:
            one.connect("\0" + name)
            return name
        except OSError:
            pass
    return ""


@probe
def metadata_service():
    one = socket.socket(socket.AF_INET)
    one.settimeout(2)
    try:
        one.connect(("169.254.169.254", 80))
        return "connected"
    except OSError:
        return ""


@probe
def families():
    for number in set(range(1, 46)) - {1, 2, 10, 16}:
        try:
            socket.socket(number, socket.SOCK_RAW)
            return str(number)
        except OSError as error:
            if error.errno != errno.EAFNOSUPPORT:
                return f"{number}: {error}"
    return ""


@probe
def raw_sockets():
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.socket(family, socket.SOCK_RAW, 1)
            return "raw"
        except OSError:
            pass
    return ""


@probe
def configure_the_network():
    one = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    one.settimeout(2)
    # RTM_NEWLINK of a dummy interface, with an acknowledgement.
    body = struct.pack("BxHiII", 0, 0, 0, 0, 0) + struct.pack("HH6s2x", 10, 3, b"probe\0")
    one.send(struct.pack("IHHII", 16 + len(body), 16, 0x605, 1, 0) + body)
    answer = one.recv(4096)
    code = struct.unpack_from("i", answer, 16)[0]
    return "" if code < 0 else "an interface"


# --- terminals ---

@probe
def type_into_a_terminal():
    leader, follower = os.openpty()
    result = LIBC.ioctl(follower, 0x5412, b"x")
    return "TIOCSTI" if result == 0 else ""


@probe
def terminals_of_others():
    return " ".join(name for name in os.listdir("/dev/pts") if name not in ("ptmx", "0", "1", "2"))
