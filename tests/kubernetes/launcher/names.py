"""A name server in the network of a test's cluster, which has none: `*.DOMAIN` has the address that is set for DOMAIN,
and it knows no other name. As a program it serves: `names.py FILE`, of a JSON object {DOMAIN: ADDRESS}, which is read for each question."""

import json
import pathlib
import selectors
import socket
import struct
import subprocess
import sys

PORT = 53
NODE = "10.89.0.2"  # for Pods; the node's own resolv.conf says 127.0.0.1 (../cluster/surroundings.py)
HEADER, ANSWER = struct.Struct("!6H"), struct.Struct("!3HIH")
IS_ANSWER, NO_SUCH_NAME = 0x8180, 3
TYPE_A, CLASS_IN = 1, 1


def asked(question):
    """(name, type, where it ends)"""
    at, words = HEADER.size, []
    while size := question[at]:
        words.append(question[at + 1:at + 1 + size].decode())
        at += 1 + size
    return ".".join(words).lower(), int.from_bytes(question[at + 1:at + 3], "big"), at + 5


def answer(question, addresses):
    name, kind, end = asked(question)
    address = addresses.get(name.partition(".")[2])
    has_one = address is not None and kind == TYPE_A
    head = HEADER.pack(int.from_bytes(question[:2], "big"), IS_ANSWER | (0 if address else NO_SUCH_NAME), 1, int(has_one), 0, 0)
    # 0xc00c: the name of the question.
    told = ANSWER.pack(0xc00c, TYPE_A, CLASS_IN, 0, 4) + socket.inet_aton(address) if has_one else b""
    return head + question[HEADER.size:end] + told


def serve(file):
    with selectors.DefaultSelector() as ready:
        # Not any address: an answer comes from where it was asked for.
        for address in ("127.0.0.1", NODE):
            one = socket.socket(type=socket.SOCK_DGRAM)
            one.bind((address, PORT))
            ready.register(one, selectors.EVENT_READ)
        print("ready", flush=True)
        while True:
            for key, _ in ready.select():
                question, client = key.fileobj.recvfrom(512)
                key.fileobj.sendto(answer(question, json.loads(file.read_text())), client)


class Names:
    def __init__(self, cluster):
        self.file = cluster.folder / "names.json"
        self.lead({})
        self.process = subprocess.Popen(cluster.in_its_network("/usr/bin/python3", "-B", __file__, self.file),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def lead(self, addresses):
        """Sets the domains that have names below them."""
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps(addresses))
        new.replace(self.file)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


if __name__ == "__main__":
    serve(pathlib.Path(sys.argv[1]))
