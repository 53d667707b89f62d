"""The addresses of a cluster: of IPv4, of IPv6, or of both. The directory of a cluster has a file that names its families."""

import ipaddress
import socket
from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    loopback: str
    server: str  # where the node's parts reach the API server
    bind: str  # where it listens
    node: str
    node_bits: int
    pods: str
    services: str
    kubernetes: str  # the address of the API server's Service
    everything: str
    endpoints: str  # as an EndpointSlice names the family


IP4 = Family(
    loopback="127.0.0.1", server="127.0.0.1", bind="0.0.0.0", node="10.89.0.2", node_bits=24, pods="10.244.0.0/16",
    services="10.96.0.0/16", kubernetes="10.96.0.1", everything="0.0.0.0/0", endpoints="IPv4")
# The API server listens on one address of IPv6 alone, so that nothing reaches it by IPv4.
IP6 = Family(
    loopback="::1", server="fd00:89::2", bind="fd00:89::2", node="fd00:89::2", node_bits=64, pods="fd00:244::/64",
    services="fd00:96::/112", kubernetes="fd00:96::1", everything="::/0", endpoints="IPv6")
# By the word for them. The first family of several is the one that a Pod or a Service has if it has one.
FAMILIES = {"ip4": (IP4,), "ip6": (IP6,), "both": (IP4, IP6)}


def in_url(address):
    return f"[{address}]" if ":" in address else address


def write(folder, word):
    (folder / "families").write_text(word)


def of(folder):
    return FAMILIES[(folder / "families").read_text()]


def server_url(folder):
    """The API server's, as the node's parts see it."""
    return f"https://{in_url(of(folder)[0].server)}:6443"


def why_not(word):
    """Why no cluster of these families can run here, or None."""
    if IP6 not in FAMILIES[word]:
        return None
    try:
        with socket.socket(socket.AF_INET6) as one:
            one.bind((IP6.loopback, 0))
    except OSError as error:
        return f"this machine has no IPv6: {error}"
    return None


def lie_in(addresses, networks):
    """Whether there is one address in each of the networks, and no other, in this order."""
    return len(addresses) == len(networks) and all(
        ipaddress.ip_address(address) in ipaddress.ip_network(network) for address, network in zip(addresses, networks))
