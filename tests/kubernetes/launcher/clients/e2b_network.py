"""E2B's Python SDK, as PyPI has it, names what a Pod may reach, and changes it while it runs, as Harbor does."""

import time

from e2b import ALL_TRAFFIC, Sandbox

ASK = """python3 -c 'import socket, sys; one = socket.create_connection(("127.0.0.1", 3128), 20)
one.sendall(b"CONNECT %s:443 HTTP/1.1\\r\\n\\r\\n" % sys.argv[1].encode()); print(one.recv(12).decode().split()[1])' """
HOSTS = ("pypi.org", "evil.org")


def expect(*statuses):
    """The proxy hears of a change a moment later."""
    until = time.monotonic() + 30
    while (seen := tuple(sandbox.commands.run(ASK + host).stdout.strip() for host in HOSTS)) != statuses:
        assert time.monotonic() < until, seen


sandbox = Sandbox.create(timeout=300, network={"allow_out": ["pypi.org"], "deny_out": [ALL_TRAFFIC]})
expect("200", "403")
sandbox.update_network({"allow_out": ["evil.org"], "deny_out": [ALL_TRAFFIC]})
expect("403", "200")
sandbox.update_network({"allow_internet_access": False})
expect("403", "403")
sandbox.update_network({})
expect("200", "200")
sandbox.files.write("a.txt", "there")
assert sandbox.files.read("a.txt") == "there"
sandbox.kill()
print("done")
