"""--egress HOST: a box reaches the servers that it may reach by name, through a proxy of its own, and nothing else."""

import json
import os
import signal
import subprocess
import threading

import pytest

from boxes import skiff  # noqa: F401
from egressing import PROBE, log_of, outside, proxies, through  # noqa: F401
from waiting import until

COUNTED = PROBE.with_name("counted.py")

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
    assert "skiff network box --egress '+evil.org'" in problem["detail"]
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
    until(lambda: [one for one in log_of(skiff)["items"] if one["verdict"] == "ended" and size < one["sent"] < 1.1 * size])


def test_the_log_has_the_very_bytes_that_passed(skiff, outside):
    skiff.up("box", "--egress", "pypi.org", "--egress", "http://pypi.org")
    skiff("cp", "-q", COUNTED, "box:/tmp/counted.py")
    sent, received = map(int, skiff("exec", "box", "--", "python3", "/tmp/counted.py", "pypi.org", str(32 << 20))[0].split())
    assert min(sent, received) > 32 << 20
    until(lambda: [(one["sent"], one["received"]) for one in log_of(skiff)["items"] if one["verdict"] == "ended"] == [(sent, received)])
    # The server's answer to a plain request has what it has read at once: the request, as it is short.
    request = "GET http://pypi.org/ HTTP/1.1\r\nHost: pypi.org\r\nConnection: close\r\n\r\n"
    body = through(skiff, {"raw": request, "end": False})[0]["back"].partition("\r\n\r\n")[2]
    plain = until(lambda: [one for one in log_of(skiff)["items"] if one["verdict"] == "ended" and one["port"] == 80])[0]
    answer = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    assert (plain["sent"], plain["received"]) == (len(body), len(answer))


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
    shown = skiff.json("network", "box")
    assert (shown["name"], shown["egress"]) == ("box", ["evil.org", "files.example.com"])
    # A policy that is wrong changes nothing.
    for rule in ("*.", "10.0.0.0/8", "https://a.org", "a.org:0"):
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
    (cut,) = [one for one in log if one["verdict"] == "cut"]
    assert (cut["code"], cut["host"]) == ("policy_changed", "pypi.org") and cut["received"] > 0
    begun = next(one for one in log if one["verdict"] == "allowed" and one["connection"] == cut["connection"])
    assert begun["generation"] != cut["generation"] == shown["generation"]
    assert not [one for one in log if one["verdict"] == "ended" and one["connection"] == cut["connection"]]


def test_the_log_says_what_passed_and_what_did_not(skiff, outside):
    skiff.up("box", "--egress", "pypi.org")
    assert log_of(skiff) == {"items": []}
    through(skiff, {"to": "pypi.org:443"}, {"to": "evil.org:443"}, {"to": "pypi.org:443", "sni": "evil.org"}, {"head": "TRACE / HTTP/1.1\r\n\r\n"})
    until(lambda: [one for one in log_of(skiff)["items"] if one["verdict"] == "ended"])
    lines = log_of(skiff)["items"]
    told = [(one["verdict"], one.get("code"), one.get("host"), one.get("address")) for one in lines]
    wanted = [("allowed", None, "pypi.org", "11.7.7.7"), ("allowed", None, "pypi.org", "11.7.7.7"), ("denied", "not_allowed", "evil.org", None),
              ("denied", "sni_mismatch", "pypi.org", "11.7.7.7"), ("denied", "method_not_allowed", None, None),
              ("ended", None, "pypi.org", "11.7.7.7")]
    assert sorted(told, key=str) == sorted(wanted, key=str)
    # Both that were allowed have a second line, by the id of the connection.
    by_id = {one["connection"]: one for one in lines if one["verdict"] in ("ended", "denied") and "connection" in one}
    begun = [one for one in lines if one["verdict"] == "allowed"]
    assert len(by_id) == 2 and {one["connection"] for one in begun} == set(by_id)
    assert not any("sent" in one for one in begun)
    ended = next(one for one in by_id.values() if one["verdict"] == "ended")
    assert ended["sent"] > 500 and ended["received"] > 500 and ended["ms"] >= 0
    refused = next(one for one in by_id.values() if one["verdict"] == "denied")
    assert (refused["sent"], refused["received"]) == (0, 0)
    assert {one["generation"] for one in lines} == {skiff.json("network", "box")["generation"]}
    shown = skiff("egress", "log", "box", "--denied")[0].splitlines()
    assert "received" in skiff("egress", "log", "box")[0]
    assert len(shown) == 4 and "sni_mismatch" in shown[2] and "evil.org:443" in shown[1]
    assert "hello" not in skiff("egress", "log", "box")[0]


def test_single_rules_are_added_and_removed(skiff, outside):
    skiff.up("box", "--egress", "pypi.org", "--egress", "files.example.com")
    assert skiff("network", "box", "--egress", "+evil.org", "--egress", "-PyPI.org:443")[0] == "box may reach: evil.org files.example.com\n"
    assert [one["status"] for one in through(skiff, {"to": "pypi.org:443"}, {"to": "evil.org:443"})] == [403, 200]
    assert skiff("network", "box", "--egress=-evil.org", "--dry-run")[0] == "box may reach: files.example.com\n"
    for words, said in ((("-pypi.org",), "the rules are: evil.org files.example.com"), (("+a.org", "b.org"), "either rules"),
                        (("+",), "expected a DNS name"), (("-",), "expected a DNS name"), (("+@nmp",), "unknown profile; use one of @anthropic"),
                        (("-@npm",), "there is no such rule")):
        err = skiff("network", "box", *(word for rule in words for word in ("--egress", rule)), status=125)[1]
        assert said in err, err
    assert skiff.json("network", "box")["egress"] == ["evil.org", "files.example.com"]
    # A profile is its hosts from the moment that it is named.
    assert skiff("network", "box", "--egress", "+@pypi")[0] == "box may reach: evil.org files.example.com files.pythonhosted.org pypi.org\n"
    assert [one["status"] for one in through(skiff, {"to": "pypi.org:443"}, {"to": "files.pythonhosted.org:443"})] == [200, 502]
    assert skiff("network", "box", "--egress", "-@pypi")[0] == "box may reach: evil.org files.example.com\n"
    assert "@pypi  " in skiff("egress", "profiles")[0] and "pypi.org files.pythonhosted.org" in skiff("egress", "profiles")[0]


def test_a_box_without_a_rule_reaches_nothing_and_gets_some_later(skiff, outside):
    skiff.up("box", "--egress", "pypi.org")
    assert skiff("network", "box", "--egress=-pypi.org")[0] == "box may reach: nothing\n"
    skiff("stop", "box")
    skiff("start", "box")
    assert "egress by name: nothing" in skiff("describe", "box")[0]
    assert [one["status"] for one in through(skiff, {"to": "pypi.org:443"})] == [403]
    assert skiff("network", "box", "--egress", "+pypi.org")[0] == "box may reach: pypi.org\n"
    assert [one["status"] for one in through(skiff, {"to": "pypi.org:443"})] == [200]


def test_explain_says_what_the_proxy_would_say(skiff, outside):
    skiff.up("box", "--egress", "pypi.org", "--egress", "inner.example.com")
    out = skiff("egress", "explain", "box", "https://pypi.org/simple/")[0]
    assert "is allowed by the rule pypi.org" in out and "not been looked up" in out
    refused = json.loads(skiff("egress", "explain", "box", "evil.org:8443", "-o", "json", status=1)[0])
    assert (refused["verdict"], refused["code"], refused["remedy"]) == ("denied", "not_allowed", "skiff network box --egress '+evil.org:8443'")
    assert skiff("egress", "explain", "box", "1.2.3.4", "-o", "name", status=1)[0] == "denied\n"
    assert "no sandbox" in skiff("egress", "explain", "absent", "pypi.org", status=125)[1]
    # Its judge is the proxy's, up to the addresses.
    targets = ("pypi.org:443", "evil.org:443", "pypi.org:80", "1.2.3.4:443", "pypi.org:0", "inner.example.com:443")
    explained = [json.loads(skiff("egress", "explain", "box", one, "-o", "json", status=status)[0]).get("code", "")
                 for one, status in zip(targets, (0, 1, 1, 1, 1, 0))]
    assert explained[:-1] == [one.get("code", "") for one in through(skiff, *({"to": one} for one in targets))][:-1]
    assert outside.asked() and "evil.org" not in outside.asked()


def follower(skiff, *flags):
    """A reader of the box's log, and the lines that it has printed."""
    lines, reader = [], skiff.start("egress", "log", "box", "-f", "-o", "json", *flags)
    threading.Thread(target=lambda: lines.extend(json.loads(line) for line in reader.stdout), daemon=True).start()
    return reader, lines


def test_the_log_is_followed_until_the_sandbox_goes(skiff, outside):
    skiff.up("box", "--egress", "pypi.org")
    through(skiff, {"to": "evil.org:443"})
    reader, lines = follower(skiff)
    other, denied = follower(skiff, "--denied")
    until(lambda: [one["host"] for one in lines] == ["evil.org"])
    through(skiff, {"to": "pypi.org:443"})
    until(lambda: [one["verdict"] for one in lines] == ["denied", "allowed", "ended"])
    # It goes on while the box is stopped, and when it runs again.
    skiff("stop", "-q", "box")
    skiff("start", "-q", "box")
    through(skiff, {"to": "files.example.com:443"})
    until(lambda: len(lines) == 4 and len(denied) == 2)
    other.send_signal(signal.SIGINT)
    assert other.wait(20) == 128 + signal.SIGINT
    assert "-f prints lines" in skiff("egress", "log", "box", "-f", "-o", "yaml", status=125)[1]
    skiff("rm", "-q", "box")
    assert reader.wait(20) == 0 and reader.stderr.read() == b""
    assert [one["host"] for one in lines] == ["evil.org", "pypi.org", "pypi.org", "files.example.com"]


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
    refused = skiff("exec", "box", "--", "python3", "-c", "import socket; socket.create_connection(('127.0.0.1', 3128))", status=1)[1]
    assert "ConnectionRefusedError" in refused
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
    assert sorted(skiff.sh("ls /.skiff").split()) == ["skiffd"]
    (pid,) = proxies(skiff)
    held = [os.readlink(f"/proc/{pid}/fd/{one}") for one in os.listdir(f"/proc/{pid}/fd")]
    assert not [one for one in held if one.startswith("/") and not one.endswith((".log", "/dev/null"))], held
    assert subprocess.run([skiff.program, "--help"], capture_output=True, text=True, check=True).stdout.count("egress serve") == 0
