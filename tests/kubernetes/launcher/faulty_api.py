"""A way to the API server that has faults on demand. As a program it is the way itself, in the network of the Pods; `FaultyApi`
starts it and tells it what to do.

    well       passes everything on
    500        answers each request with an internal error
    slow       passes each request on after SLOW seconds
    silent     takes what comes, and says nothing; also not on connections that are open already
    killed     breaks all connections and takes none
    gone       answers watches with 410, as if their version were too old; ends those that are open
"""

import json
import os
import pathlib
import selectors
import socket
import subprocess
import sys
import threading

SLOW = 2.5
STATUS = {"kind": "Status", "apiVersion": "v1", "status": "Failure"}
REFUSALS = {"500": (500, {**STATUS, "reason": "InternalError", "code": 500, "message": "an internal error of this test"}),
            "gone": (410, {**STATUS, "reason": "Expired", "code": 410, "message": "too old resource version"})}


def answer(mode):
    status, body = REFUSALS[mode]
    text = json.dumps(body).encode()
    return b"HTTP/1.1 %d No\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (status, len(text), text)


class Way:
    def __init__(self, upstream):
        self.upstream, self.mode, self.lock, self.open = upstream, "well", threading.Lock(), set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.address = self.listener.getsockname()

    def be(self, mode):
        with self.lock:
            before, self.mode = self.mode, mode
            ended = [one for one, is_watch in self.open if mode == "killed" or (mode == "gone" and is_watch)]
        if before == "killed":
            self.listener = socket.create_server(self.address, backlog=64)
            threading.Thread(target=self.accept, daemon=True).start()
        if mode == "killed":
            self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()
        for one in ended:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it has ended meanwhile

    def accept(self):
        listener = self.listener
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        entry = (client, False)
        try:
            with client, socket.socket(socket.AF_UNIX) as server, selectors.DefaultSelector() as ready:
                server.connect(self.upstream)
                self.open.add(entry)
                ready.register(client, selectors.EVENT_READ)
                ready.register(server, selectors.EVENT_READ)
                while True:
                    for key, _ in ready.select():
                        data = key.fileobj.recv(65536)
                        mode = self.mode
                        if not data:
                            return
                        if mode == "silent":
                            continue
                        if key.fileobj is server:
                            client.sendall(data)
                            continue
                        is_watch = b"watch=true" in data.partition(b"\r\n")[0]
                        if mode == "500" or (mode == "gone" and is_watch):
                            client.sendall(answer(mode))
                            return
                        if is_watch:
                            self.open.discard(entry)
                            entry = (client, True)
                            self.open.add(entry)
                        if mode == "slow":
                            threading.Event().wait(SLOW)
                        server.sendall(data)
        except OSError:
            pass
        finally:
            self.open.discard(entry)


class FaultyApi:
    def __init__(self, cluster, folder):
        self.upstream = f"{folder}/faulty-api"
        self.kubectl = subprocess.Popen(cluster.command("proxy", f"--unix-socket={self.upstream}"), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, text=True)
        assert "Starting to serve" in self.kubectl.stdout.readline()
        self.way = subprocess.Popen(cluster.in_its_network(sys.executable, "-B", os.path.abspath(__file__), self.upstream),
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.kubeconfig = pathlib.Path(folder) / "faulty.conf"
        self.kubeconfig.write_text(f"""apiVersion: v1
kind: Config
clusters: [{{name: faulty, cluster: {{server: "http://127.0.0.1:{self.way.stdout.readline().strip()}"}}}}]
contexts: [{{name: faulty, context: {{cluster: faulty, user: faulty}}}}]
users: [{{name: faulty, user: {{}}}}]
current-context: faulty
""")

    def be(self, mode):
        self.way.stdin.write(f"{mode}\n")
        self.way.stdin.flush()
        assert self.way.stdout.readline() == f"{mode}\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in (self.way, self.kubectl):
            process.kill()
            process.wait()
            process.stdout.close()
        self.way.stdin.close()


def main():
    way = Way(sys.argv[1])
    threading.Thread(target=way.accept, daemon=True).start()
    print(way.address[1], flush=True)
    for line in sys.stdin:
        way.be(line.strip())
        print(line, end="", flush=True)


if __name__ == "__main__":
    main()
