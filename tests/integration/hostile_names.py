"""Answers of a name server that attacks who asks it; each is for the first label of a name."""

import collections
import socket
import struct

import laptop

INNER = "10.1.2.3"
POINTER = b"\xc0\x0c"
#: How often each label was asked for an address.
ASKED = collections.Counter()


def record(kind, body, owner=POINTER):
    return owner + struct.pack(">HHIH", kind, 1, 60, len(body)) + body


def addresses(*texts, owner=POINTER):
    return [record(1, socket.inet_aton(text), owner) for text in texts]


def name(*labels):
    return b"".join(bytes([len(one)]) + one.encode() for one in labels) + b"\0"


def alias(target, address):
    return [record(5, target), record(1, socket.inet_aton(address), target)]


def turning():
    return addresses(laptop.FAR if ASKED["turning"] == 1 else INNER)


RECORDS = {
    "turning": turning,
    "alias": lambda: alias(name("inner", "example", "com"), INNER),
    "outward": lambda: alias(name("pypi", "org"), laptop.FAR),
    "many": lambda: addresses(*[laptop.FAR] * 24, INNER),
    "none": list,
    "other": lambda: addresses(laptop.FAR, owner=name("evil", "org")),
    "loop": lambda: [record(5, POINTER)] * 20,
    "pointers": lambda: [b"\xc0\xff" * 200],
    "ahead": lambda: [b"\xff\xff" + struct.pack(">HHIH", 1, 1, 60, 4) + bytes(4)],
    "short": lambda: [record(1, b"\x0b\x07")],
    "long": lambda: [POINTER + struct.pack(">HHIH", 1, 1, 60, 60_000) + bytes(4)],
    "text": lambda: [record(16, b"\xff" + b"x" * 255)] * 100,
}


def answer(label, kind, query, question):
    if kind != 1:
        return query[:2] + b"\x81\x80\0\1\0\0\0\0\0\0" + question
    ASKED[label] += 1
    head = {"another": bytes([query[0] ^ 1, query[1]]) + b"\x81\x80", "cut": query[:2] + b"\x83\x80", "refused": query[:2] + b"\x81\x85"}.get(label, query[:2] + b"\x81\x80")
    if label == "junk":
        return query[:2] + b"\x81\x80" + b"\xff" * 500
    if label == "elsewhere":
        question = name("pypi", "org") + question[-4:]
    records = RECORDS.get(label, lambda: addresses(laptop.FAR))()
    return head + b"\0\1" + struct.pack(">H", len(records)) + b"\0\0\0\0" + question + b"".join(records)
