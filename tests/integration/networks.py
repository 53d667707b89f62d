"""Sockets on the loopback of a sandbox that has a network of its own."""

import ctypes
import os
import socket

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)


def bound(process, address=("127.0.0.1", 0)):
    """A TCP socket with this address in the network of this process; None is this machine."""
    if process is None:
        return _bound(address)
    # A socket stays in the network where it was made. A child goes there, and sends it back.
    here, there = socket.socketpair()
    with here, there:
        child = os.fork()
        if child == 0:
            try:
                _enter(process)
                one = _bound(address)
                socket.send_fds(there, [b"bound"], [one.fileno()])
            except OSError as error:
                there.send(str(error).encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        told, descriptors, _, _ = socket.recv_fds(here, 1000, 1)
    assert descriptors, told
    return socket.socket(fileno=descriptors[0])


def listening(process, address=("127.0.0.1", 0), backlog=128):
    one = bound(process, address)
    one.listen(backlog)
    return one


def _bound(address):
    one = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind(address)
    return one


def _enter(process):
    """The user namespace gives the rights over the network; nobody can enter the one where they are."""
    others = {name: kind for name, kind in (("user", CLONE_NEWUSER), ("net", CLONE_NEWNET))
              if os.readlink(f"/proc/{process}/ns/{name}") != os.readlink(f"/proc/self/ns/{name}")}
    opened = [(os.open(f"/proc/{process}/ns/{name}", os.O_RDONLY), kind) for name, kind in others.items()]
    for descriptor, kind in opened:
        if libc.setns(descriptor, kind) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
