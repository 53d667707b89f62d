"""A name server for a test's own network: answers from a table, over UDP and TCP on 127.0.0.1:53."""

import ipaddress
import socket
import struct
import threading

A, AAAA = 1, 28


def question_of(query):
    """The name and type that a query asks for, and where the question ends."""
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode())
        at += 1 + query[at]
    return ".".join(labels).lower(), struct.unpack("!H", query[at + 1:at + 3])[0], at + 5


def answer_to(query, table, by_udp):
    """The reply; None: it stays silent. A name that begins with "long" has more addresses than a datagram holds."""
    name, kind, end = question_of(query)
    if name.startswith("silent"):
        return None
    if name not in table:
        return query[:2] + b"\x81\x83" + query[4:6] + b"\0\0\0\0\0\0" + query[12:end]  # NXDOMAIN
    packed = [ipaddress.ip_address(text).packed for text in table[name]]
    records = [one for one in packed if len(one) == (4 if kind == A else 16)]
    flags = b"\x81\x80"
    if by_udp and name.startswith("long"):
        records, flags = [], b"\x83\x80"  # truncated: ask again by TCP
    body = b"".join(b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 60, len(one)) + one for one in records)
    return query[:2] + flags + query[4:6] + struct.pack("!HHH", len(records), 0, 0) + query[12:end] + body


def serve(table):
    """Answers until the process ends."""
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.bind(("127.0.0.1", 53))
    streams = socket.create_server(("127.0.0.1", 53))

    def by_datagrams():
        while True:
            query, peer = datagrams.recvfrom(4096)
            reply = answer_to(query, table, True)
            if reply:
                datagrams.sendto(reply, peer)

    def by_streams():
        while True:
            stream, _ = streams.accept()
            with stream, stream.makefile("rb") as file:
                while len(head := file.read(2)) == 2:
                    reply = answer_to(file.read(struct.unpack("!H", head)[0]), table, False)
                    stream.sendall(struct.pack("!H", len(reply)) + reply)

    for work in by_datagrams, by_streams:
        threading.Thread(target=work, daemon=True).start()
