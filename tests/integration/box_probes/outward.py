"""Attempts to reach addresses from a box: `python3 outward.py JSON`, a list of hosts. Prints {way: what answered}, for every way
that a program without rights has past the routes of its own namespace."""

import concurrent.futures
import json
import socket
import struct
import sys

PORT, ECHO, PATIENCE = 8080, 8081, 1.0
BIND_TO_DEVICE, UNICAST_IF, DONTROUTE = 25, 50, socket.SO_DONTROUTE


def kinds():
    """Each kind of socket, as what is done to it."""
    index = socket.if_nametoindex("eth0") if any(name == "eth0" for _, name in socket.if_nameindex()) else 1
    return {"plain": lambda one: None,
            "device": lambda one: one.setsockopt(socket.SOL_SOCKET, BIND_TO_DEVICE, b"eth0\0"),
            "interface": lambda one: one.setsockopt(socket.IPPROTO_IP, UNICAST_IF, struct.pack("!I", index)),
            "link": lambda one: one.setsockopt(socket.SOL_SOCKET, DONTROUTE, 1)}, index


def said_by(host, kind, change, stream):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM if stream else socket.SOCK_DGRAM) as one:
        one.settimeout(PATIENCE)
        change(one)
        if stream:
            one.connect((host, PORT))
        else:
            one.sendto(f"{kind} {host}".encode(), (host, ECHO))
        return one.recv(100).decode()


def by_packet_info(host, index):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.settimeout(PATIENCE)
        about = struct.pack("i4s4s", index, b"\0\0\0\0", b"\0\0\0\0")
        one.sendmsg([f"pktinfo {host}".encode()], [(socket.IPPROTO_IP, 8, about)], 0, (host, ECHO))  # IP_PKTINFO
        return one.recv(100).decode()


def attempts(hosts):
    ways, index = kinds()
    for host in hosts:
        for kind, change in ways.items():
            for stream in (True, False):
                yield f"{'tcp' if stream else 'udp'} {kind} {host}", lambda h=host, k=kind, c=change, s=stream: said_by(h, k, c, s)
        if ":" not in host:
            yield f"pktinfo {host}", lambda h=host: by_packet_info(h, index)


def answered(attempt):
    try:
        return attempt()
    except OSError:
        return None


def run():
    all_of_them = list(attempts(json.loads(sys.argv[1])))
    with concurrent.futures.ThreadPoolExecutor(48) as threads:
        answers = threads.map(lambda one: answered(one[1]), all_of_them)
    print(json.dumps({way: said for (way, _), said in zip(all_of_them, answers, strict=True) if said is not None}))


if __name__ == "__main__":
    run()
