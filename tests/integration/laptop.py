"""A laptop and an internet, as network namespaces of this machine, for a launcher whose boxes have a network.

    internet  11.7.7.7, and the addresses of PRIVATE, as a bad network would have them
      |       11.0.0.1/24
    laptop    11.0.0.2/24, a name server on 127.0.0.53, servers on all of its addresses
"""

import contextlib
import os
import pathlib
import select
import shutil
import socket
import struct
import subprocess
import sys

PORT, ECHO = 8080, 8081
#: Public addresses: those for documentation are barred, too.
FAR = "11.7.7.7"
NEIGHBOUR, OWN = "11.0.0.1", "11.0.0.2"
PRIVATE = ["10.1.2.3", "192.168.7.7", "169.254.169.254", "100.64.0.9", "172.16.5.5", "192.0.0.9", "192.0.2.9", "192.88.99.1",
           "198.51.100.7", "203.0.113.9", "168.63.129.16"]
GROUP = "239.1.2.3"


class Laptop:
    """Both namespaces. `words` before a command line run it on the laptop."""

    def __init__(self, folder, tun=True):
        self.folder = folder
        self.log = folder / "internet.log"
        self.log.touch()
        (folder / "resolv.conf").write_text("nameserver 127.0.0.53\n")
        self.holders = [subprocess.Popen(["unshare", "--net", "--mount", "sleep", "infinity"]) for _ in range(2)]
        self.laptop, self.internet = (self._inside(one.pid) for one in self.holders)
        for holder in self.holders:
            # `unshare` has become `sleep` when it has its namespaces.
            while pathlib.Path(f"/proc/{holder.pid}/comm").read_text() != "sleep\n":
                assert holder.poll() is None
        self._run(self.laptop, "mount", "--bind", folder / "resolv.conf", "/etc/resolv.conf")
        self._run(self.laptop, "sh", "-c", "mount -t tmpfs tmpfs /dev/net" + (" && mknod -m 666 /dev/net/tun c 10 200" if tun else ""))
        self._run(self.laptop, "ip", "link", "add", "up0", "type", "veth", "peer", "name", "down0", "netns", str(self.holders[1].pid))
        self._run(self.laptop, "sh", "-c", f"ip link set lo up; ip addr add {OWN}/24 dev up0; ip link set up0 up; "
                                           f"ip route add default via {NEIGHBOUR}")
        others = "; ".join(f"ip addr add {one}/32 dev lo" for one in (FAR, *PRIVATE))
        self._run(self.internet, "sh", "-c", f"ip link set lo up; ip addr add {NEIGHBOUR}/24 dev down0; ip link set down0 up; {others}")
        self.servers = [self._serve(self.internet, "internet", "down0"), self._serve(self.laptop, "laptop", "up0")]

    @property
    def words(self):
        return self.laptop

    def seen(self):
        return self.log.read_text()

    def close(self):
        for one in (*self.servers, *self.holders):
            one.kill()
            one.communicate()

    @staticmethod
    def _inside(pid):
        return [shutil.which("nsenter"), f"--target={pid}", "--net", "--mount", f"--wd={os.getcwd()}", "--"]

    @staticmethod
    def _run(words, *more):
        subprocess.run([*words, *map(str, more)], check=True, timeout=30)

    def _serve(self, words, name, link):
        server = subprocess.Popen([*words, sys.executable, __file__, name, link, str(self.log)], stdout=subprocess.PIPE)
        assert server.stdout.readline() == b"ready\n"
        return server


@contextlib.contextmanager
def laptop(folder, **options):
    one = Laptop(folder, **options)
    try:
        yield one
    finally:
        one.close()


def answer_name(query):
    """An answer of a name server: every name has the address FAR."""
    return query[:2] + b"\x81\x80" + query[4:6] + query[4:6] + b"\0\0\0\0" + query[12:] + \
        b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton(FAR)


def serve(name, link, log):
    """TCP says the name and hangs up; UDP sends what comes back, and notes it."""
    listeners = [socket.create_server(("::", PORT), family=socket.AF_INET6, dualstack_ipv6=True)]
    datagrams = []
    for family, address in ((socket.AF_INET6, "::"), (socket.AF_INET, "0.0.0.0")):
        one = socket.socket(family, socket.SOCK_DGRAM)
        if family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.bind((address, ECHO))
        datagrams.append(one)
    member = struct.pack("4s4si", socket.inet_aton(GROUP), b"\0\0\0\0", socket.if_nametoindex(link))
    datagrams[1].setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
    names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    names.bind(("127.0.0.53", 53))
    print("ready", flush=True)
    while True:
        ready, _, _ = select.select([*listeners, *datagrams, names], [], [])
        for one in ready:
            if one in listeners:
                connection, _ = one.accept()
                with connection, contextlib.suppress(OSError):
                    connection.sendall(name.encode())
                continue
            data, peer = one.recvfrom(4096)
            with contextlib.suppress(OSError):
                if one is names:
                    one.sendto(answer_name(data), peer)
                else:
                    with open(log, "a") as file:
                        file.write(f"{name} {data!r}\n")
                    one.sendto(name.encode(), peer)


if __name__ == "__main__":
    serve(*sys.argv[1:])
