"""The way into a cluster: `relay.py LISTENER NAMESPACE HOST PORT`. Connections to the socket that it inherits as descriptor
LISTENER are passed on to HOST:PORT inside of the network namespace that the file NAMESPACE names. The kill of this process
cuts them all."""

import concurrent.futures
import ctypes
import os
import socket
import sys
import threading

CLONE_NEWNET = 0x40000000
PIECE = 256 * 1024
libc = ctypes.CDLL(None, use_errno=True)


def enter(namespace):
    with open(namespace) as file:
        if libc.setns(file.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), namespace)


def pass_on(source, target):
    """Until the end of one side; then the other one learns of it."""
    buffer = bytearray(PIECE)
    view = memoryview(buffer)
    try:
        while size := source.recv_into(buffer):
            target.sendall(view[:size])
        target.shutdown(socket.SHUT_WR)
    except OSError:
        for side in (source, target):
            try:
                side.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def serve(client, inside, address):
    with client:
        try:
            # Namespaces are a thread's: a socket stays in the one where it was made.
            server = inside.submit(socket.create_connection, address, 10).result()
        except OSError:
            return  # the client sees the end of its connection
        with server:
            for side in (client, server):
                side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                side.settimeout(None)
            back = threading.Thread(target=pass_on, args=(server, client), daemon=True)
            back.start()
            pass_on(client, server)
            back.join()


def main():
    listener = socket.socket(fileno=int(sys.argv[1]))
    inside = concurrent.futures.ThreadPoolExecutor(1, initializer=enter, initargs=(sys.argv[2],))
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client, inside, (sys.argv[3], int(sys.argv[4]))), daemon=True).start()


if __name__ == "__main__":
    main()
