"""A TCP proxy that cuts connections, as load balancers, laptops and tunnels do."""

import socket
import struct
import threading


class CuttingProxy:
    """Passes connections on to `target`. The first one is cut when more than `cuts[0]` bytes have come back through it,
    the next one at `cuts[1]`, and so on; later ones are left alone. Cuts are by turns an end of file and a reset. `sent`: the
    same for what goes to the target."""

    def __init__(self, target, cuts, sent=()):
        self.target, self.cuts, self.request_cuts, self.done = target, list(cuts), list(sent), 0
        self.server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.server.getsockname()[1]}"
        self.threads = [threading.Thread(target=self._accept)]
        self.open = []
        self.threads[0].start()

    def _accept(self):
        while True:
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            upstream = socket.create_connection(self.target)
            self.open += [client, upstream]
            allowance = self.cuts.pop(0) if self.cuts else None
            forward = self.request_cuts.pop(0) if self.request_cuts else None
            for work, arguments in ((self._forward, (client, upstream, forward)), (self._back, (upstream, client, allowance))):
                self.threads.append(threading.Thread(target=work, args=arguments))
                self.threads[-1].start()

    def _forward(self, client, upstream, allowance):
        try:
            while piece := client.recv(65536):
                if allowance is not None and len(piece) > allowance:
                    upstream.sendall(piece[:allowance])
                    self.done += 1
                    for side in (client, upstream):
                        side.shutdown(socket.SHUT_RDWR)
                    return
                upstream.sendall(piece)
                allowance = allowance - len(piece) if allowance is not None else None
            upstream.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def _back(self, upstream, client, allowance):
        try:
            while piece := upstream.recv(65536):
                if allowance is not None and len(piece) > allowance:
                    client.sendall(piece[:allowance])
                    self.done += 1
                    if self.done % 2:  # a reset instead of an end of file
                        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    break
                client.sendall(piece)
                allowance = allowance - len(piece) if allowance is not None else None
        except OSError:
            pass
        for side in (client, upstream):
            try:
                side.shutdown(socket.SHUT_RD)  # wakes the other thread, sends nothing
            except OSError:
                pass
            side.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        self.threads[0].join()
        for side in self.open:
            try:
                side.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        for thread in self.threads:
            thread.join()
        for side in self.open:
            side.close()
