"""A stand-in for the egress proxy of Pods and its canary, on the loopback of a network namespace: it knows nothing but its two ports.

Run as a program in there: it prints the ports, and `{"got": TEXT}` for what a connection says up to an exclamation mark, and takes
`close` and `open` for the canary."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import threading


class StandIn:
    """Both ports, and the namespace: `words` before a command line run it in there."""

    def __init__(self):
        self.holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "ip link set lo up && echo ready && exec sleep infinity"],
                                       stdout=subprocess.PIPE)
        assert self.holder.stdout.readline() == b"ready\n"
        self.words = [shutil.which("nsenter"), f"--target={self.holder.pid}", "--net", f"--wd={os.getcwd()}", "--"]
        self.program = subprocess.Popen([*self.words, sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ports = self.next()
        self.flags = ["--egress", f"127.0.0.1:{self.ports['proxy']}", "--egress-canary", f"127.0.0.1:{self.ports['canary']}"]

    def next(self):
        return json.loads(self.program.stdout.readline())

    def canary(self, what):
        self.program.stdin.write(what.encode() + b"\n")
        self.program.stdin.flush()
        assert self.next() == {"canary": what}

    def stop(self):
        for one in (self.program, self.holder):
            one.kill()
            one.communicate()


@contextlib.contextmanager
def stand_in():
    made = StandIn()
    try:
        yield made
    finally:
        made.stop()


def say(**what):
    print(json.dumps(what), flush=True)


def listen(listener, answer):
    def accept():
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener


def repeat(connection):
    with connection:
        got = b""
        while not got.endswith(b"!") and (block := connection.recv(65536)):
            got += block
        if got:
            say(got=got.decode("latin-1"))
            connection.sendall(b"thank you")


def run():
    proxy = listen(socket.create_server(("127.0.0.1", 0)), repeat)
    canary = listen(socket.create_server(("127.0.0.1", 0)), socket.socket.close)
    address = canary.getsockname()
    say(proxy=proxy.getsockname()[1], canary=address[1])
    for line in sys.stdin:
        if line == "close\n":
            canary.shutdown(socket.SHUT_RDWR)
            canary.close()
        else:
            canary = listen(socket.create_server(address), socket.socket.close)
        say(canary=line.strip())


if __name__ == "__main__":
    run()
