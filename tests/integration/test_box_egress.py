"""--egress HOST: a box reaches the servers that it may reach by name, through a proxy of its own, and nothing else."""

import json
import os
import signal
import subprocess

import pytest

from boxes import skiff  # noqa: F401
from egressing import log_of, outside, proxies, through  # noqa: F401
from waiting import until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a laptop and an internet")


def test_a_box_reaches_what_it_may_by_name(skiff, outside):
    made = skiff.up("box", "--egress", "pypi.org", "--egress", "*.wild.example.com:8443")
    assert made["details"]["network"] == "egress by name: *.wild.example.com:8443 pypi.org"
    found = through(skiff, {"to": "pypi.org:443"}, {"to": "PyPI.org.:443", "sni": "pypi.ORG"}, {"to": "a.b.wild.example.com:8443"},
                    {"to": "evil.org:443"}, {"to": "pypi.org:8443"}, {"to": "wild.example.com:8443"})
    assert [one.get("said", "") for one in found[:3]] == ["pypi.org 443 hello", "pypi.ORG 443 hello", "a.b.wild.example.com 8443 hello"]
    assert [(one["status"], one["code"]) for one in found[3:]] == [(403, "not_allowed"), (403, "port_not_allowed"), (403, "not_allowed")]
    problem = json.loads(found[3]["said"])
    assert (problem["code"], problem["host"], problem["port"], problem["status"]) == ("not_allowed", "evil.org", 443, 403)
    assert "skiff network box --egress" in problem["detail"] and "--egress 'evil.org'" in problem["detail"]
    # A name is looked up as it is, and only if it is allowed.
    assert set(outside.asked()) == {"pypi.org", "a.b.wild.example.com"}


def test_programs_find_the_proxy(skiff, outside):
    skiff.up("box", "--egress", "pypi.org", "--env", "http_proxy=http://mine:1")
    said = skiff.sh("env; python3 -c \"import urllib.request; print(urllib.request.getproxies()['https'])\"").splitlines()
    assert "HTTPS_PROXY=http://127.0.0.1:3128" in said and "ALL_PROXY=http://127.0.0.1:3128" in said and "http_proxy=http://mine:1" in said
    assert "no_proxy=localhost,127.0.0.1,::1" in said and said[-1] == "http://127.0.0.1:3128"
    script = ("import ssl, http.client; c = ssl._create_unverified_context(); "
              "h = http.client.HTTPSConnection('127.0.0.1', 3128, context=c, timeout=20); h.set_tunnel('pypi.org', 443); "
              "h.connect(); h.sock.sendall(b'hello'); print(h.sock.recv(99).decode())")
    assert skiff.sh(f'python3 -c "{script}"') == "pypi.org 443 hello\n"
    skiff.up("bare")
    assert "PROXY" not in skiff.sh("env", name="bare")


def test_bytes_pass_both_ways(skiff, outside):
    skiff.up("box", "--egress", "pypi.org")
    size = 8 << 20
    assert through(skiff, {"to": "pypi.org:443", "say": f"upload {size}"}) == [{"status": 200, "said": "got all"}]


def test_a_new_policy_holds_at_once(skiff, outside):
    skiff.up("box", "--egress", "pypi.org", "--egress", "files.example.com")
    skiff("cp", "-q", outside.probe, "box:/tmp/by_name.py")
    stays = [skiff.start("exec", "box", "--", "python3", "/tmp/by_name.py", json.dumps([{"to": f"{name}:443", "stay": True}]))
             for name in ("pypi.org", "files.example.com")]
    for one in stays:
        assert one.stdout.readline().endswith(b"443 hello\n")
    assert skiff("network", "box", "--egress", "files.example.com", "--egress", "evil.org")[0] == "box may reach: evil.org files.example.com\n"
    # The one that is not allowed any more is cut; the other one goes on.
    assert b"status" in stays[0].communicate(timeout=60)[0]
    assert stays[1].poll() is None
    found = through(skiff, {"to": "pypi.org:443"}, {"to": "evil.org:443"}, {"to": "files.example.com:443"})
    assert [one["status"] for one in found] == [403, 200, 200]
    assert skiff.json("network", "box") == {"name": "box", "egress": ["evil.org", "files.example.com"]}
    # A policy that is wrong changes nothing.
    for rule in ("*", "10.0.0.0/8", "https://a.org", "a.org:0"):
        assert "--egress" in skiff("network", "box", "--egress", "pypi.org", "--egress", rule, status=125)[1]
    assert [one["status"] for one in through(skiff, {"to": "pypi.org:443"}, {"to": "evil.org:443"})] == [403, 200]
    assert skiff("network", "box", "--egress", "pypi.org", "--dry-run")[0] == "box may reach: pypi.org\n"
    # It outlives the box.
    skiff("stop", "-q", "box")
    assert skiff("network", "box", "--egress", "pypi.org", "-o", "name")[0] == "box\n"
    skiff("start", "-q", "box")
    assert [one["status"] for one in through(skiff, {"to": "pypi.org:443"}, {"to": "evil.org:443"})] == [200, 403]
    stays[1].communicate(timeout=60)
    log = log_of(skiff)["items"]
    assert ("cut", "policy_changed", "pypi.org") in [(one["verdict"], one.get("code"), one.get("host")) for one in log]


def test_the_log_says_what_passed_and_what_did_not(skiff, outside):
    skiff.up("box", "--egress", "pypi.org")
    assert log_of(skiff) == {"items": []}
    through(skiff, {"to": "pypi.org:443"}, {"to": "evil.org:443"}, {"to": "pypi.org:443", "sni": "evil.org"}, {"head": "TRACE / HTTP/1.1\r\n\r\n"})
    told = [(one["verdict"], one.get("code"), one.get("host"), one.get("address")) for one in log_of(skiff)["items"]]
    wanted = [("allowed", None, "pypi.org", "11.7.7.7"), ("allowed", None, "pypi.org", "11.7.7.7"), ("denied", "not_allowed", "evil.org", None),
              ("denied", "sni_mismatch", "pypi.org", "11.7.7.7"), ("denied", "method_not_allowed", None, None)]
    assert sorted(told, key=str) == sorted(wanted, key=str)
    shown = skiff("egress", "log", "box", "--denied")[0].splitlines()
    assert len(shown) == 4 and "sni_mismatch" in shown[2] and "evil.org:443" in shown[1]
    assert "hello" not in skiff("egress", "log", "box")[0]


def test_the_proxy_ends_with_its_box(skiff, outside):
    skiff.up("box", "--egress", "pypi.org")
    (first,) = proxies(skiff)
    os.kill(int(skiff.json("ps", "box")["details"]["pid"]), signal.SIGKILL)
    until(lambda: not proxies(skiff))
    skiff("start", "-q", "box")
    (second,) = proxies(skiff)
    assert second != first
    skiff("stop", "-q", "box")
    assert not proxies(skiff)
    skiff("start", "-q", "box")
    assert through(skiff, {"to": "pypi.org:443"})[0]["status"] == 200
    skiff("rm", "-q", "box")
    assert not proxies(skiff)
    until(lambda: not skiff.processes())


def test_a_box_without_a_record_takes_its_proxy_along(skiff, outside):
    skiff.up("box", "--egress", "pypi.org")
    (skiff.sandboxes / "box/record.json").unlink()
    skiff("rm", "-q", "box")
    until(lambda: not proxies(skiff) and not skiff.processes())


def test_a_dead_proxy_lets_nothing_pass(skiff, outside):
    skiff.up("box", "--egress", "pypi.org")
    os.kill(proxies(skiff)[0], signal.SIGKILL)
    until(lambda: not proxies(skiff))
    (found,) = through(skiff, {"to": "pypi.org:443"})
    assert (found["status"], found["code"]) == (503, "no_proxy")
    assert "its proxy has ended" in skiff.json("ps", "box")["details"]["network"]
    assert "does not run" in skiff("network", "box", "--egress", "evil.org", status=125)[1]
    skiff("stop", "-q", "box")
    skiff("start", "-q", "box")
    assert through(skiff, {"to": "evil.org:443"})[0]["status"] == 200


def test_what_a_client_gets_when_the_server_is_not_there(skiff, outside):
    skiff.up("box", "--egress", "absent.example.com", "--egress", "deaf.example.com")
    found = through(skiff, {"to": "absent.example.com:443"}, {"to": "deaf.example.com:443"})
    assert [(one["status"], one["code"]) for one in found] == [(502, "dns"), (502, "connect")]


def test_it_is_for_boxes_and_pods_alone(skiff):
    err = skiff("up", "x", "--driver", "local", "--egress", "pypi.org", status=125)[1]
    assert "--egress" in err and "drivers box and pod" in err, err
    err = skiff("up", "x", "--egress", "pypi.org", "--network", "open", status=125)[1]
    assert "--network open" in err
    assert "expected a DNS name" in skiff("up", "x", "--egress", "1.2.3.4", status=125)[1]
    assert skiff.names() == []
    skiff.up("box")
    assert "no egress by name" in skiff("network", "box", "--egress", "pypi.org", status=125)[1]
    assert "no egress by name" in skiff("egress", "log", "box", status=125)[1]


def test_the_directory_of_a_box_is_not_for_the_box(skiff, outside):
    skiff.up("box", "--egress", "pypi.org")
    assert sorted(skiff.sh("ls /.skiff").split()) == ["egress.sock", "skiffd"]
    (pid,) = proxies(skiff)
    held = [os.readlink(f"/proc/{pid}/fd/{one}") for one in os.listdir(f"/proc/{pid}/fd")]
    assert not [one for one in held if one.startswith("/") and not one.endswith((".log", "/dev/null"))], held
    assert subprocess.run([skiff.program, "--help"], capture_output=True, text=True, check=True).stdout.count("egress serve") == 0
