"""Probes of the kernel, of privileges and of the agent."""

import ctypes
import errno
import os
import resource
import socket
import struct

from probing import DESCRIPTORS, LIBC, OUTSIDE, PLACE, call, probe, reached, readable, writable

# --- the kernel ---

@probe
def kernel_settings():
    return writable("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/vm/drop_caches",
                    "/proc/sys/fs/binfmt_misc/register", "/proc/sysrq-trigger", "/proc/sys/kernel/hostname",
                    "/proc/sys/net/ipv4/ip_forward", "/proc/irq/default_smp_affinity", "/proc/sys/fs/protected_symlinks")


@probe
def kernel_memory():
    return readable("/proc/kcore", "/proc/kmsg", "/proc/kallsyms", "/proc/keys", "/proc/key-users", "/proc/timer_list",
                    "/proc/sched_debug", "/proc/modules", "/proc/kpagecount", "/proc/vmallocinfo", "/proc/slabinfo", "/dev/mem",
                    "/dev/kmsg", "/dev/port", "/sys/kernel", "/sys/firmware", "/sys/class", "/sys/block")


@probe
def kernel_calls():
    attributes = bytes(128)
    return (reached("bpf", 0, attributes, 128) or reached("perf_event_open", attributes, 0, -1, -1, 0)
            or reached("userfaultfd", 1) or reached("io_uring_setup", 1, bytes(120)) or reached("kexec_load", 0, 0, None, 0)
            or reached("init_module", None, 0, b"") or reached("finit_module", 0, b"", 0) or reached("syslog", 3, bytes(16), 16)
            or reached("open_by_handle_at", -100, bytes(16), 0) or reached("fanotify_init", 0, 0))


@probe
def keyrings():
    return (reached("keyctl", 0, -3, 0) or reached("keyctl", 0, -4, 0) or reached("add_key", b"user", b"probe", b"x", 1, -3)
            or reached("request_key", b"user", b"probe", None, -3))


@probe
def administration():
    now = struct.pack("qq", 0, 0)
    return (reached("clock_settime", 0, now) or reached("settimeofday", now, None) or reached("swapon", os.fsencode(PLACE + "/x"), 0)
            or reached("acct", os.fsencode(PLACE + "/x")) or reached("quotactl", 0x80000100, b"/dev/vda", 0, bytes(64))
            or reached("sethostname", b"x", 1) or reached("reboot", 0x12345678, 0, 0, None))


@probe
def newest_calls():
    return "" if call_number(470) == -errno.ENOSYS and call_number(0x40000000 + 39) == -errno.ENOSYS else "a call above the filter"


def call_number(number):
    result = LIBC.syscall(ctypes.c_long(number), 0, 0, 0, 0, 0, 0)
    return -ctypes.get_errno() if result < 0 else result


# --- privileges ---

@probe
def privileges():
    state = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\t" in line)
    bad = [name for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb") if int(state[name], 16)]
    bad += [] if state["NoNewPrivs"].strip() == "1" else ["NoNewPrivs"]
    bad += [] if state["Seccomp"].strip() == "2" else ["Seccomp"]
    bad += [] if set(state["Uid"].split()) == {"1000"} else ["Uid " + state["Uid"]]
    return " ".join(bad)


@probe
def other_users():
    for change in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0]), lambda: os.setresuid(0, 0, 0),
                   lambda: os.chown(PLACE, 0, 0)):
        try:
            change()
            return "changed"
        except OSError:
            pass
    return ""


@probe
def limits_of_resources():
    soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    if not 0 < hard <= 4096:
        return f"{hard} processes"
    try:
        resource.setrlimit(resource.RLIMIT_NPROC, (hard + 1, hard + 1))
        return "raised"
    except (OSError, ValueError):
        return ""


@probe
def priorities():
    for change in (lambda: os.nice(-5), lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))):
        try:
            change()
            return "raised"
        except OSError:
            pass
    return ""


@probe
def out_of_memory_order():
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("-1000")
        return "lowered"
    except OSError:
        return ""


@probe
def inotify_of_the_user():
    most = {"max_inotify_instances": 32, "max_inotify_watches": 32768, "max_fanotify_groups": 0}
    return " ".join(name for name, value in most.items() if int(open(f"/proc/sys/user/{name}").read()) > value)


# --- the agent ---

@probe
def agents_memory():
    return readable("/proc/1/environ", "/proc/1/mem", "/proc/1/maps", "/proc/1/fd", "/proc/1/root", "/proc/1/cwd", "/proc/1/fdinfo",
                    "/proc/1/auxv", "/proc/1/stack", "/proc/1/task/1/environ")


@probe
def trace_the_agent():
    for request in (16, 0x4206):  # PTRACE_ATTACH, PTRACE_SEIZE
        if call("ptrace", request, 1, 0, 0) >= 0:
            return "ptrace"
    buffer = ctypes.create_string_buffer(16)
    vector = struct.pack("QQ", ctypes.addressof(buffer), 16)
    return reached("process_vm_readv", 1, vector, 1, struct.pack("QQ", 0x400000, 16), 1, 0)


@probe
def descriptors_of_the_agent():
    agent = call("pidfd_open", 1, 0)
    if agent < 0:
        return ""
    for number in range(16):
        if found := reached("pidfd_getfd", agent, number, 0):
            return found
    return ""


@probe
def inherited_descriptors():
    return " ".join(f"{number} {target}" for number, target in DESCRIPTORS.items() if number > 2)


@probe
def kill_the_agent():
    for number in (9, 19):
        try:
            os.kill(1, number)
        except OSError:
            pass
    return "" if os.path.exists("/proc/1/status") else "killed"


@probe
def socket_of_the_agent():
    names = [line.split()[-1] for line in open("/proc/net/unix").read().splitlines()[1:] if len(line.split()) == 8]
    for name in names + OUTSIDE["sockets"]:
        one = socket.socket(socket.AF_UNIX)
        try:
            one.connect(name)
            return name
        except OSError:
            pass
    return ""


@probe
def secrets_in_the_environment():
    return " ".join(name for name in os.environ if name.startswith(("SKIFF", "AWS", "SSH", "XDG", "DBUS")) or name in OUTSIDE["variables"])


@probe
def order_of_the_agent():
    """When memory runs out, or the processor is shared, a command must not put the agent first."""
    for name in ("oom_score_adj", "oom_adj", "autogroup", "timerslack_ns", "coredump_filter", "comm", "clear_refs", "sched"):
        for value in ("-1000", "1000", "1"):
            try:
                with open(f"/proc/1/{name}", "w") as file:
                    file.write(value)
                return f"/proc/1/{name}"
            except OSError:
                pass
    for thread in os.listdir("/proc/1/task"):
        try:
            resource.prlimit(int(thread), resource.RLIMIT_NOFILE, (8, 8))
            return "limits of the agent"
        except OSError:
            pass
    return ""


@probe
def protocols_that_nobody_needs():
    stream, datagram, raw, packets = socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET
    for family in (socket.AF_INET, socket.AF_INET6):
        for kind, protocol in ((raw, 1), (raw, 255), (packets, 132), (stream, 132), (6, 33), (stream, 262), (datagram, 136),
                               (datagram, 1), (datagram, 58), (10, 0)):
            try:
                socket.socket(family, kind, protocol).close()
                return f"family {family}, type {kind}, protocol {protocol}"
            except OSError:
                pass
    for protocol in range(1, 32):
        try:
            socket.socket(socket.AF_NETLINK, raw, protocol).close()
            return f"netlink {protocol}"
        except OSError:
            pass
    return ""


@probe
def tls_in_the_kernel():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as one:
        try:
            one.setsockopt(socket.IPPROTO_TCP, 31, b"tls")
            return "TCP_ULP"
        except OSError:
            return ""
