"""A way to the API server on which the answer to one kind of request never comes."""

import contextlib
import pathlib
import selectors
import socket
import subprocess
import threading


def read(connection):
    """The next bytes of the connection; none at its end, however it ended."""
    try:
        return connection.recv(65536)
    except ConnectionError:
        return b""


class HeldRequests:
    """`needle` is how the head of those requests begins: "POST /api/v1/namespaces/a/configmaps". Each is passed on at once
    and its answer lost, or, if `late`, only passed on when the client has hung up: as if it had still been on its way.
    `seen` is set when an answer was lost, or when there is a request that is late."""

    def __init__(self, cluster, folder, needle, late):
        self.needle, self.late = needle.encode(), late
        self.seen = threading.Event()
        self.proxy = subprocess.Popen(cluster.command("proxy", f"--unix-socket={folder}/api"), stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, text=True)
        assert "Starting to serve" in self.proxy.stdout.readline()
        self.upstream = f"{folder}/api"
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.kubeconfig = pathlib.Path(folder) / "held.conf"
        server = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.kubeconfig.write_text(f"""apiVersion: v1
kind: Config
clusters: [{{name: held, cluster: {{server: "{server}"}}}}]
contexts: [{{name: held, context: {{cluster: held, user: held}}}}]
users: [{{name: held, user: {{}}}}]
current-context: held
""")
        self.threads = [threading.Thread(target=self._accept)]
        self.threads[0].start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.threads.append(threading.Thread(target=self._serve, args=(client,)))
            self.threads[-1].start()

    def _serve(self, client):
        with client, socket.socket(socket.AF_UNIX) as server, selectors.DefaultSelector() as ready:
            server.connect(self.upstream)
            ready.register(client, selectors.EVENT_READ)
            ready.register(server, selectors.EVENT_READ)
            held, kept = False, b""
            while True:
                for key, _ in ready.select():
                    data = read(key.fileobj)
                    if key.fileobj is server:
                        if not data:
                            return
                        if held:
                            self.seen.set()
                        else:
                            with contextlib.suppress(ConnectionError):
                                client.sendall(data)
                        continue
                    if not data:
                        server.sendall(kept)
                        if kept:
                            read(server)  # it has taken effect by then
                        return
                    held = held or data.startswith(self.needle)
                    if held and self.late:
                        kept += data
                        self.seen.set()
                    else:
                        server.sendall(data)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.proxy.kill()
        self.proxy.wait()
        self.proxy.stdout.close()
        for thread in self.threads:
            thread.join()
