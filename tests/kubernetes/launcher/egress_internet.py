"""An internet beside the node of a cluster: a name server and servers of TLS at a public address that Pods reach, as
../../integration/egress_world.py has them for boxes."""

import contextlib
import json
import pathlib
import subprocess
import sys

import egress_world
from families import IP4

NODE, HERE = "11.0.0.2", "11.0.0.1"


class Internet:
    def __init__(self, cluster, folder):
        self.queries, self.seen_log, table = folder / "queries.log", folder / "origin.log", folder / "names.json"
        for log in (self.queries, self.seen_log):
            log.touch()
        table.write_text(json.dumps(egress_world.NAMES))
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        # `unshare` has become `sleep` when it has its namespace.
        while pathlib.Path(f"/proc/{self.holder.pid}/comm").read_text() != "sleep\n":
            assert self.holder.poll() is None
        self.words = ["nsenter", f"--target={self.holder.pid}", "--net", "--"]
        self._run(cluster.in_its_network("sh", "-c", f"ip link add up0 type veth peer name down0 netns {self.holder.pid}; "
                                         f"ip addr add {NODE}/24 dev up0; ip link set up0 up; ip route add {egress_world.FAR}/32 via {HERE}"))
        self._run([*self.words, "sh", "-c", f"ip link set lo up; ip addr add {egress_world.FAR}/32 dev lo; ip addr add "
                   f"{egress_world.PRIVATE}/32 dev lo; ip addr add {HERE}/24 dev down0; ip link set down0 up; ip route add {IP4.pods} via {NODE}"])
        self.servers = [self._start("names", table, self.queries, egress_world.FAR),
                        self._start("origin", egress_world.make_certificate(folder), self.seen_log)]

    @staticmethod
    def _run(words):
        subprocess.run(list(map(str, words)), check=True, stdin=subprocess.DEVNULL)

    def _start(self, *arguments):
        server = subprocess.Popen([*self.words, sys.executable, egress_world.__file__, *map(str, arguments)], stdout=subprocess.PIPE)
        assert server.stdout.readline() == b"ready\n"
        return server

    def asked(self):
        return self.queries.read_text().split()

    def seen(self):
        return self.seen_log.read_text().splitlines()

    def close(self):
        for one in (*self.servers, self.holder):
            one.kill()
            one.communicate()


@contextlib.contextmanager
def internet(cluster, folder):
    one = Internet(cluster, folder)
    try:
        yield one
    finally:
        one.close()
