"""Attacks on the name server and the loopback addresses of a box with egress by name, from within it."""

import json
import os

import pytest

from boxes import skiff  # noqa: F401
from egressing import log_of, outside, through, unaware  # noqa: F401
from waiting import until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a laptop and an internet")

HEAD = b"\x12\x34\x01\x00\x00\x01\0\0\0\0\0\0"
END = b"\0\0\1\0\1"


def query(*labels, kind=1):
    return HEAD + b"".join(bytes([len(one)]) + one for one in labels) + bytes([0, 0, kind, 0, 1])


def code(answer):
    return None if answer is None else bytes.fromhex(answer)[3] & 15


@pytest.fixture
def box(skiff, outside):
    skiff.up("box", "--egress", "pypi.org", "--egress", "*.wild.example.com", "--egress", "http://files.example.com")
    return skiff


def test_messages_that_are_none_are_refused_or_ignored(box, outside):
    wrong = {"a loop": HEAD + b"\xc0\x0c\0\1\0\1", "a loop behind a label": HEAD + b"\4pypi\xc0\x0c\0\1\0\1", "a long label": HEAD + b"\x40" + b"a" * 64 + END,
             "a long name": HEAD + (b"\x3f" + b"a" * 63) * 4 + END, "half a name": HEAD + b"\4py", "no class": HEAD + b"\4pypi\3org\0\0\1",
             "two questions": HEAD[:5] + b"\2" + HEAD[6:] + (b"\4pypi\3org" + END) * 2, "an answer in it": HEAD[:7] + b"\1" + HEAD[8:] + b"\4pypi\3org" + END,
             "a long one": query(b"pypi", b"org") + b"x" * 5000}
    found = unaware(box, *({"dns": one.hex()} for one in wrong.values()))
    assert {code(one) for one in found} == {1}, list(zip(wrong, found))
    odd = [query(b"pyp\0i", b"org"), query(b"p\xc3\xbcpi", b"org"), query(b"pypi.org"), query(b"py pi", b"org"), query(b"a\r\nX: y", b"org"), query()]
    assert {code(one) for one in unaware(box, *({"dns": one.hex()} for one in odd))} == {3}
    update = HEAD[:2] + b"\x28" + HEAD[3:] + b"\4pypi\3org" + END
    (other,) = unaware(box, {"dns": update.hex()})
    assert code(other) == 4
    # An answer has no answer, or two servers could talk for ever.
    silent, after = unaware(box, {"dns": (HEAD[:2] + b"\x81" + HEAD[3:] + b"\4pypi\3org" + END).hex(), "patience": 1}, {"look": "pypi.org"})
    assert silent is None and after == ["127.64.0.1"]
    for text in (b"\4pypi\3org" + END, b"x"):
        assert unaware(box, {"dns": text.hex(), "tcp": True}, {"to": "pypi.org:443"})[1] == "pypi.org 443 hello"
    assert set(outside.asked()) == {"pypi.org"}


def test_a_flood_of_queries_stops_nobody(box, outside):
    found = unaware(box, {"dns": query(b"pypi", b"org").hex(), "count": 20_000}, {"dns": HEAD.hex(), "count": 20_000},
                    {"dns": query(b"x", b"org", kind=16).hex(), "count": 2_000, "tcp": True}, {"to": "pypi.org:443"})
    assert found[-1] == "pypi.org 443 hello"
    assert json.loads(box("exec", "box", "--", "python3", "-c", HOLD)[0]) == 24
    until(lambda: unaware(box, {"to": "pypi.org:443"}) == ["pypi.org 443 hello"])


HOLD = """
import json, socket
held = [socket.create_connection(("127.0.0.1", 53)) for _ in range(40)]
print(json.dumps(sum(one.recv(1) == b"" for one in held[16:])))
"""


def test_messages_in_names_below_a_wildcard_are_few(box, outside):
    found = unaware(box, *({"look": f"secret-{part}.wild.example.com"} for part in range(30)), {"look": "secret-3.wild.example.com"}, {"to": "pypi.org:443"})
    assert [one == "again" for one in found[:30]] == [False] * 20 + [True] * 10
    assert found[30] == found[3] and found[31] == "pypi.org 443 hello"
    assert {one["code"] for one in log_of(box, "--denied")["items"]} == {"too_many_names"}
    assert set(outside.asked()) == {"pypi.org"}


def test_an_address_leads_to_its_own_name_and_no_other(box, outside):
    (one,), (two,) = unaware(box, {"look": "pypi.org"}, {"look": "a.wild.example.com"})
    other, plain, no_name, port = unaware(box, {"at": f"{one}:443", "sni": "a.wild.example.com"}, {"at": f"{one}:443", "bytes": "SSH-2.0-x\r\n"},
                                          {"at": "127.64.9.9:443"}, {"at": f"{two}:80"})
    assert other.startswith("failed: ") and plain.startswith("\x15\x03\x01") and "refused" in no_name and "refused" in port
    assert [line["code"] for line in log_of(box, "--denied")["items"]] == ["sni_mismatch", "not_tls"]
    assert outside.seen() == []


def test_the_question_for_ports_is_judged_as_connect_is(box, outside):
    ask = "GET /.well-known/skiff-egress/ports?host={} HTTP/1.1\r\nHost: x\r\n\r\n"
    wanted = {"pypi.org": '{"ports":[443]}', "PyPI.org.": '{"ports":[443]}', "files.example.com": '{"ports":[80]}', "evil.org": '"not_allowed"',
              "wild.example.com": '"not_allowed"', "": '"bad_target"', "11.7.7.7": '"bad_target"', "pypi.org%00": '"bad_target"', "pypi.org\0": '"bad_target"',
              "pypi.org&host=evil.org": '"bad_target"', "b\xfccher.org": '"bad_target"', "a" * 300 + ".org": '"bad_target"', "a..org": '"bad_target"', "*": '"bad_target"'}
    found = through(box, *({"raw": ask.format(host)} for host in wanted), {"raw": ask.format("pypi.org").replace("GET", "POST")})
    for (host, said), one in zip(wanted.items(), found):
        assert said in one["back"], (host, one)
    assert "method_not_allowed" in found[-1]["back"]
    assert outside.asked() == []


def test_requests_in_a_tunnel_are_framed_anew(box, outside):
    get = "GET /{} HTTP/1.1\r\nHost: files.example.com\r\n{}\r\n"
    forms = ["POST / HTTP/1.1\r\nHost: files.example.com\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", get.format("", "Host: evil.org\r\n"),
             "CONNECT pypi.org:443 HTTP/1.1\r\nHost: files.example.com\r\n\r\n", "GET http://evil.org/ HTTP/1.1\r\nHost: evil.org\r\n\r\n",
             "GET / HTTP/1.1\r\nHost: files.example.com:443\r\n\r\n", "GET / HTTP/1.1\r\nHost: files.example.com@evil.org\r\n\r\n", "\5\1\0", "* HTTP/1.1\r\n\r\n"]
    found = unaware(box, *({"to": "files.example.com:80", "bytes": form + get.format("smuggled", "")} for form in forms))
    for form, said in zip(forms, found):
        assert said.startswith(("HTTP/1.1 400 ", "HTTP/1.1 421 ")) and "smuggled" not in said, (form, said)
    assert outside.seen() == []


MANY = """
import json, socket
seen = set()
for part in range(2500):
    seen |= {one[4][0] for one in socket.getaddrinfo(f"n{part}.example.org", 443, socket.AF_INET)}
listeners = sum(line.split()[3] == "0A" for line in list(open("/proc/net/tcp"))[1:])
print(json.dumps([len(seen), listeners <= 1024 + 2]))
"""


def test_thousands_of_names_are_bounded(skiff, outside):
    skiff.up("box", "--egress", "*")
    assert json.loads(skiff("exec", "box", "--", "python3", "-c", MANY)[0]) == [2500, True]
    assert unaware(skiff, {"to": "pypi.org:443"}) == ["pypi.org 443 hello"]


TOO_MANY = """
import json, socket
def is_closed(one):
    try:
        return one.recv(1) == b""
    except ConnectionResetError:
        return True
address = socket.gethostbyname("pypi.org")
held = [socket.create_connection((address, 443)) for _ in range(280)]
print(json.dumps(sum(map(is_closed, held[256:]))))
"""


def test_connections_by_name_are_bounded_with_the_others(box, outside):
    assert json.loads(box("exec", "box", "--", "python3", "-c", TOO_MANY)[0]) == 24
    until(lambda: unaware(box, {"to": "pypi.org:443"}) == ["pypi.org 443 hello"])
