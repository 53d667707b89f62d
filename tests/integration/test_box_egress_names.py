"""Programs that know no proxy reach the servers that a box may reach, by their names: the box has a name server and an address for each
name."""

import os
import shlex
import shutil

import pytest

from box_secrets import TO, box, origin  # noqa: F401
from boxes import skiff  # noqa: F401
from egressing import BARE, log_of, outside, unaware  # noqa: F401
from waiting import until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a laptop and an internet")

FETCH = "fetch('https://pypi.org/').then(answer => answer.text()).then(text => process.stdout.write(text))"
CLIENT = ("import http.client, ssl; c = http.client.HTTPSConnection('pypi.org', context=ssl._create_unverified_context(), timeout=20); "
          "c.request('GET', '/'); print(c.getresponse().read().decode(), end='')")
OPENSSL = """
import os, subprocess
with subprocess.Popen(["openssl", "s_client", "-quiet", "-connect", "git.example.com:8443", "-servername", "git.example.com"],
                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as client:
    client.stdin.write(b"hello")
    client.stdin.flush()
    print(os.read(client.stdout.fileno(), 100).decode(), end="")
    client.kill()
"""


def run(skiff, *words, **options):
    return skiff("exec", "box", "--", *BARE, *words, **options)[0]


def test_programs_that_know_no_proxy_reach_servers_by_name(skiff, outside):
    skiff.up("box", "--egress", "pypi.org", "--egress", "git.example.com:8443")
    assert run(skiff, "curl", "-sSk", "--max-time", "30", "https://pypi.org/") == "pypi.org 443\n"
    assert run(skiff, "python3", "-c", CLIENT) == "pypi.org 443\n"
    assert run(skiff, "python3", "-c", OPENSSL) == "git.example.com 8443 hello"
    if shutil.which("node") == "/usr/bin/node":
        assert run(skiff, "env", "NODE_TLS_REJECT_UNAUTHORIZED=0", "NODE_NO_WARNINGS=1", "node", "-e", FETCH) == "pypi.org 443\n"
    found = unaware(skiff, {"to": "pypi.org:443"}, {"to": "PyPI.org.:443", "sni": "pypi.org"}, {"to": "git.example.com:8443", "say": "raw"})
    assert found == ["pypi.org 443 hello", "pypi.org 443 hello", "git.example.com 8443 raw"]
    # The log has these connections as it has others.
    until(lambda: [one for one in log_of(skiff)["items"] if one["verdict"] == "ended" and one["port"] == 8443])
    assert {(one["host"], one["address"]) for one in log_of(skiff)["items"]} == {("pypi.org", "11.7.7.7"), ("git.example.com", "11.7.7.7")}


def test_a_name_without_a_rule_does_not_exist(skiff, outside):
    skiff.up("box", "--egress", "pypi.org")
    found = unaware(skiff, *({"look": one} for one in ("evil.org", "pypi.org.evil.org", "org", "pypi.org.", "PYPI.ORG")))
    assert found == ["unknown", "unknown", "unknown", ["127.64.0.1"], ["127.64.0.1"]]
    # A client that asks for both families may come to a second line.
    refused = dict.fromkeys((one["code"], one["host"]) for one in log_of(skiff, "--denied")["items"])
    assert list(refused) == [("not_allowed", "evil.org"), ("not_allowed", "pypi.org.evil.org"), ("not_allowed", "org")]
    assert "--egress '+evil.org'" in log_of(skiff, "--denied")["items"][0]["detail"]
    # Nobody outside hears of a name that is only looked up.
    assert outside.asked() == []
    own = skiff.sh("getent ahosts localhost | cut -d' ' -f1 | sort -u; getent ahosts box | cut -d' ' -f1 | sort -u; cat /etc/resolv.conf").split("\n")
    assert "127.0.0.1" in own and "nameserver 127.0.0.1" in own
    skiff.up("bare")
    assert "nameserver" not in skiff.sh("cat /etc/resolv.conf", name="bare")


def test_new_rules_hold_for_the_next_query(skiff, outside):
    skiff.up("box", "--egress", "pypi.org")
    ((kept,),) = unaware(skiff, {"look": "pypi.org"})
    skiff("network", "box", "--egress", "evil.org")
    # An address that a program has kept leads to the proxy, which refuses.
    old, gone, new = unaware(skiff, {"at": f"{kept}:443", "sni": "pypi.org"}, {"look": "pypi.org"}, {"to": "evil.org:443"})
    assert old.startswith("failed: ") and "denied" in old and (gone, new) == ("unknown", "evil.org 443 hello")
    skiff("network", "box", "--egress", "pypi.org:8443")
    closed, other = unaware(skiff, {"to": "pypi.org:443"}, {"to": "pypi.org:8443"})
    assert "refused" in closed and other == "pypi.org 8443 hello"
    (address,) = unaware(skiff, {"look": "pypi.org"})
    assert address == [kept]


def test_requests_without_tls_pass_where_a_rule_says_so(skiff, outside):
    skiff.up("box", "--egress", "http://files.example.com")
    said = run(skiff, "curl", "-sS", "--max-time", "30", "http://files.example.com/a?b", "http://files.example.com/c")
    assert said.count("GET /a?b HTTP/1.1\r\nHost: files.example.com\r\n") == 1 and "GET /c HTTP/1.1" in said
    other, url = unaware(skiff, *({"to": "files.example.com:80", "bytes": one} for one in (
        "GET / HTTP/1.1\r\nHost: evil.org\r\n\r\n", "GET http://files.example.com/ HTTP/1.1\r\nHost: files.example.com\r\n\r\n")))
    assert "HTTP/1.1 421 " in other and "X-Skiff-Egress: host_mismatch" in other
    assert "X-Skiff-Egress: bad_target" in url
    assert [(one["verdict"], one["host"], one["port"]) for one in log_of(skiff)["items"] if one["verdict"] == "allowed"] == [
        ("allowed", "files.example.com", 80)] * 2
    assert len(outside.seen()) == 2


def test_a_server_of_the_box_s_own_keeps_its_port(skiff, outside):
    skiff.up("box", "--egress", "pypi.org", "--egress", "pypi.org:8443")
    serve = ("import socket; s = socket.create_server(('0.0.0.0', 8443)); print('listens', flush=True)\n"
             "while True:\n c = s.accept()[0]; c.sendall(b'mine'); c.close()")
    server = skiff.start("exec", "box", "--", "python3", "-c", serve)
    assert server.stdout.readline() == b"listens\n"
    mine, by_name = unaware(skiff, {"at": "127.0.0.1:8443", "bytes": ""}, {"to": "pypi.org:443"})
    assert (mine, by_name) == ("mine", "pypi.org 443 hello")
    server.kill()
    server.communicate()


def test_git_needs_neither_a_token_nor_a_proxy(box, origin):  # noqa: F811
    said = box.sh(f"""{shlex.join(BARE)} sh -ec 'cd /tmp && git clone -q https://{TO}/git/app.git app && cd app
        git -c user.email=a@b -c user.name=a commit -q --allow-empty -m more && git push -q origin HEAD:main && git ls-remote -q origin main'""")
    assert (origin.directory / "git/app.git/refs/heads/main").read_text().strip() in said
