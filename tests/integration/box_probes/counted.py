"""A tunnel through the egress proxy of a box, in which both directions carry much at once and this one ends first:
`python3 counted.py HOST BYTES`. The server answers all that it gets. Prints the bytes that have passed in the tunnel, each way."""

import select
import socket
import ssl
import sys

host, size = sys.argv[1], int(sys.argv[2])
one = socket.create_connection(("127.0.0.1", 3128), 20)
one.sendall(f"CONNECT {host}:443 HTTP/1.1\r\n\r\n".encode())
head = b""
while not head.endswith(b"\r\n\r\n"):
    head += one.recv(1)
assert head.split()[1] == b"200", head
one.setblocking(False)
context = ssl._create_unverified_context()
incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
tls = context.wrap_bio(incoming, outgoing, server_hostname=host)
counts, left, waiting, is_ready, is_over = {"sent": 0, "received": 0}, size, b"", False, False
while True:
    try:
        if not is_ready:
            tls.do_handshake()
            is_ready = True
        while len(waiting) + outgoing.pending < 1 << 20 and left > 0:
            left -= tls.write(b"x" * min(left, 65536))
        while tls.read(65536):
            pass
    except ssl.SSLWantReadError:
        pass
    except ssl.SSLError:
        assert is_over
    waiting += outgoing.read()
    if is_ready and left == 0 and not waiting and not is_over:
        one.shutdown(socket.SHUT_WR)
        is_over = True
    reads, writes, _ = select.select([one], [one] if waiting else [], [], 20)
    assert reads or writes, "nothing passes"
    if writes:
        passed = one.send(waiting)
        counts["sent"] += passed
        waiting = waiting[passed:]
    if reads:
        block = one.recv(1 << 20)
        if not block:
            break
        counts["received"] += len(block)
        incoming.write(block)
print(counts["sent"], counts["received"])
