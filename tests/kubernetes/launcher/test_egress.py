"""Egress by name of Pods, where network policies are enforced (kube-router): `skiff egress install`, what a sandbox reaches and what
it does not, and the proofs that it is so."""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import threading
import time

import pytest

import egress_world
import installed
import watchdogs
from egress_installed import PROBE, PYTHON, cluster, one, outside, skiff  # noqa: F401
from egress_servers import ALL, Servers
from replicas import in_the_network_of_pods
from skiff import Skiff, pool_json
from waiting import until, until_still

SCRIPTS = pathlib.Path(__file__).resolve().parent / "clients"
E2B = pathlib.Path(installed.__file__).resolve().parent / "e2b"
# From its first moment on it connects past the proxy as often as it can, and sends requests through the proxy; each names the number.
RACE = """
import socket, sys, threading
def say(to, words, wait):
    while True:
        try:
            with socket.create_connection(to, wait) as one:
                one.sendall(words)
                one.recv(1 if wait < 1 else 4096)
        except OSError:
            pass
number = sys.argv[1]
threading.Thread(target=say, args=(("11.7.7.7", 443), f"DIR {number}!".encode(), 0.2)).start()
request = f"PUT http://pypi.org/{number} HTTP/1.1\\r\\nHost: pypi.org\\r\\nConnection: close\\r\\nContent-Length: 1\\r\\n\\r\\n!"
say(("127.0.0.1", 3128), request.encode(), 5)
"""
# For each line: holds a tunnel to pypi.org and asks for others all the time; prints when it was cut, and when the first was refused.
CHANGES = """
import socket, ssl, sys, threading, time
def tunnel():
    one = socket.create_connection(("127.0.0.1", 3128), 20)
    one.sendall(b"CONNECT pypi.org:443 HTTP/1.1\\r\\n\\r\\n")
    return one, one.recv(4096).split()[1:2]
def refused(into):
    while tunnel()[1] == [b"200"]:
        pass
    into.append(time.time())
for line in sys.stdin:
    while True:
        one, status = tunnel()
        if status == [b"200"]:
            break
    with ssl._create_unverified_context().wrap_socket(one, server_hostname="pypi.org") as secure:
        times = []
        others = [threading.Thread(target=refused, args=(times,)) for _ in range(4)]
        for other in others:
            other.start()
        print("open", flush=True)
        try:
            secure.recv(1)
        except OSError:
            pass
        cut = time.time()
    for other in others:
        other.join()
    print(cut, min(times), flush=True)
"""
RACES_AT_ONCE = 5
RACES = int(os.environ.get("SKIFF_EGRESS_RACES", "200"))
LONGEST_RACE = 60 + 8 * RACES  # seconds


def test_a_sandbox_reaches_the_names_and_nothing_else(skiff, outside):
    skiff.up("box", "--egress", "pypi.org", "--egress", "*.wild.example.com:8443", "--egress", "both.example.com")
    assert "egress by name: *.wild.example.com:8443 both.example.com pypi.org" in skiff("describe", "box")[0]
    allowed, wild, denied, port, private, other = skiff.through(
        {"to": "pypi.org:443"}, {"to": "a.wild.example.com:8443"}, {"to": "evil.org:443"}, {"to": "pypi.org:8443"},
        {"to": "both.example.com:443"}, {"to": "pypi.org:443", "sni": "evil.org"})
    assert allowed == {"status": 200, "said": "pypi.org 443 hello"}
    assert wild == {"status": 200, "said": "a.wild.example.com 8443 hello"}
    assert [one["code"] for one in (denied, port, private)] == ["not_allowed", "port_not_allowed", "private_address"]
    assert other["status"] == 200 and "failed" in other
    proxies = [pod["status"]["podIP"] for pod in skiff.home.items("pods")]
    service = skiff.home.get("service", "skiff-egress")["spec"]["clusterIP"]
    places = [f"{egress_world.FAR}:443", f"{egress_world.FAR}:53", "10.96.0.1:443", "10.89.0.2:10250",
              *(f"{one}:3129" for one in (service, *proxies)), *(f"{one}:9128" for one in proxies)]
    assert skiff.reaches(*places, f"{service}:3128") == [False] * (len(places) + 1) + [True]
    assert set(outside.asked()) == {"pypi.org", "a.wild.example.com", "both.example.com"}
    lines = skiff.log()
    assert {(line["host"], line["verdict"]) for line in lines if line["verdict"] == "allowed"} == {
        ("pypi.org", "allowed"), ("a.wild.example.com", "allowed")}
    assert {line["code"] for line in skiff.log("--denied")} == {"not_allowed", "port_not_allowed", "private_address", "sni_mismatch"}
    assert {line["pod"] for line in lines} == {"skiff-box"}
    ended = until(lambda: [line for line in skiff.log() if line["verdict"] == "ended"], 30, "the end of a connection")
    assert ended[0]["sent"] > 0 and ended[0]["received"] > 0
    assert {line["generation"] for line in lines} == {json.loads(skiff("network", "box", "-o", "json")[0])["generation"]}
    numbers = [skiff.home.cluster.inside("curl", "--silent", "--fail", "--max-time", "30", f"http://{one}:9128/metrics") for one in proxies]
    for one in numbers:
        labels = " ".join(re.findall(r'="([^"]*)"', one))
        assert "skiff_egress_policies 1\n" in one and not re.search("pypi|box|evil", labels), one
    assert any('skiff_egress_requests_total{verdict="denied",why="private_address"} 1\n' in one for one in numbers), numbers


def test_programs_that_know_no_proxy_reach_names(skiff, outside):
    skiff.up("box", "--egress", "pypi.org", "--egress", "*.wild.example.com:8443", "--egress", "http://files.example.com")
    assert "127.64." in skiff("exec", "box", "--", "python3", "-c", "import socket; print(socket.gethostbyname('pypi.org'))")[0]
    plain = "GET /a HTTP/1.1\r\nHost: files.example.com\r\nConnection: close\r\n\r\n"
    allowed, wild, unknown, http = skiff.unaware({"to": "pypi.org:443"}, {"to": "a.wild.example.com:8443"}, {"look": "evil.org"},
                                                 {"to": "files.example.com:80", "bytes": plain})
    assert (allowed, wild, unknown) == ("pypi.org 443 hello", "a.wild.example.com 8443 hello", "unknown")
    assert "GET /a HTTP/1.1" in http
    # A network could be routed to loopback addresses, so only those may connect.
    ((address,), other) = skiff.unaware({"look": "pypi.org"}, {"to": "pypi.org:443", "own": True})
    assert address.startswith("127.64.") and other.startswith("failed: "), other
    until(lambda: ("not_allowed", "evil.org") in [(line["code"], line["host"]) for line in skiff.log("--denied")], 30, "the refusal")
    skiff("network", "box", "--egress", "evil.org")
    until(lambda: skiff.unaware({"look": "pypi.org"}, {"to": "evil.org:443"}) == ["unknown", "evil.org 443 hello"], 30, "the new rules")


def token_of(pod):
    [container] = pod["spec"]["containers"]
    return next(one["value"] for one in container["env"] if one["name"] == "SKIFF_EGRESS_TOKEN")


def ask_as(skiff, pod, first):
    """The answer of the proxy to a command of the sandbox that connects by itself, and says this and a request for pypi.org."""
    address = skiff.home.get("service", "skiff-egress")["spec"]["clusterIP"]
    line = ("import socket,sys; one = socket.create_connection((sys.argv[1], 3128), 10); one.sendall(sys.argv[2].encode() + "
            "b'CONNECT pypi.org:443 HTTP/1.1\\r\\n\\r\\n'); print(one.recv(4096).decode().split('\\r\\n')[:2])")
    return skiff("exec", pod, "--", "python3", "-c", line, address, first)[0]


def test_a_credential_is_good_for_its_own_pod_alone(skiff):
    skiff.ups(("box", "--egress", "pypi.org"), ("other", "--egress", "evil.org"))
    mine, others = (f"SKIFF-EGRESS/1 {token_of(skiff.pod(name))}\r\n" for name in ("box", "other"))
    assert "200 " in ask_as(skiff, "box", mine)
    assert "wrong_credential" in ask_as(skiff, "box", others)
    assert "wrong_credential" in ask_as(skiff, "other", mine)
    assert "no_credential" in ask_as(skiff, "box", "")
    # Neither reaches the other, whose agent listens there.
    port = skiff.pod("other")["spec"]["containers"][0]["ports"][0]["containerPort"]
    assert skiff.reaches(f"{skiff.pod('other')['status']['podIP']}:{port}") == [False, False]
    assert token_of(skiff.pod("box")) not in skiff("exec", "box", "--", "sh", "-c", "cat /proc/*/environ /proc/*/cmdline 2>/dev/null; env")[0]


def test_a_policy_is_replaced_and_cuts_what_it_forbids(skiff):
    skiff.up("box", "--egress", "pypi.org")
    skiff("cp", "-q", PROBE, "box:by_name.py")
    staying = skiff.start("exec", "box", "--", "python3", "by_name.py", json.dumps([{"to": "pypi.org:443", "stay": True}]))
    assert staying.stdout.readline() == b"pypi.org 443 hello\n"
    assert skiff("network", "box", "--egress", "evil.org")[0] == "box may reach: evil.org\n"
    assert staying.wait(30) == 0
    until(lambda: [one.get("code", one["status"]) for one in skiff.through({"to": "pypi.org:443"}, {"to": "evil.org:443"})] == ["not_allowed", 200],
          30, "the new policy")
    # No change is lost among several at the same moment, neither in the record nor on the Pod.
    names = [f"n{i}.example.org" for i in range(5)]
    changes = [skiff.start("network", "box", "-q", "--egress", f"+{name}") for name in names]
    assert [one.wait(60) for one in changes] == [0] * len(names)
    assert json.loads(skiff.pod()["metadata"]["annotations"]["skiff.dev/egress"]) == sorted(["evil.org", *names])
    assert "there is no such rule" in skiff("network", "box", "--egress", "-pypi.org", status=125)[1]
    assert "by the rule evil.org" in skiff("egress", "explain", "box", "evil.org")[0]
    skiff.namespace.patch("pod/skiff-box", {"metadata": {"annotations": {"skiff.dev/egress": "not JSON"}}})
    assert "no_policy" in skiff("egress", "explain", "box", "evil.org", status=1)[0]
    until(lambda: skiff.through({"to": "evil.org:443"})[0].get("code") == "no_policy", 30, "no policy")


def test_without_the_proxy_nothing_passes(skiff):
    skiff.up("box", "--egress", "pypi.org")
    reader, followed = skiff.start("egress", "log", "box", "-f", "-o", "json"), []
    threading.Thread(target=lambda: followed.extend(json.loads(line) for line in reader.stdout), daemon=True).start()
    skiff.through({"to": "evil.org:443"})
    until(lambda: [one["host"] for one in followed] == ["evil.org"], 30, "a line")
    skiff.home.patch("deployment/skiff-egress", {"spec": {"replicas": 0}})
    until(lambda: skiff.home.items("pods") == [], 60, "no proxy", every=0.1)
    assert skiff.through({"to": "pypi.org:443"})[0]["status"] in (502, 503)
    assert skiff.reaches(f"{egress_world.FAR}:443") == [False, False]
    skiff.home.patch("deployment/skiff-egress", {"spec": {"replicas": 2}})
    until(skiff.is_ready, 60, "two proxies", every=0.1)
    until(lambda: skiff.through({"to": "pypi.org:443"})[0]["status"] == 200, 60, "a way again")
    # The log of the new Pods is followed, too, until the sandbox goes.
    until(lambda: [one for one in followed if one["verdict"] == "ended"], 30, "a line of a new Pod")
    skiff("rm", "-q", "box")
    assert reader.wait(60) == 0, reader.stderr.read()
    begun = [one["connection"] for one in followed if one["verdict"] == "allowed"]
    assert len(set(begun)) == len(begun) and len([one for one in followed if one["host"] == "evil.org"]) == 1


def test_doctor_proves_the_fence_by_two_pods(skiff):
    found = json.loads(skiff("doctor", "--egress", "-o", "json")[0])
    assert found["passed"], found
    # With another policy of the namespace that opens more.
    skiff.namespace.create({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "open"},
                            "spec": {"podSelector": {}, "policyTypes": ["Egress"], "egress": [{}]}})
    try:
        told = json.loads(skiff("doctor", "--egress", "-o", "json", status=125)[0])
        assert "egress_not_enforced" in told["items"][0]["detail"], told
    finally:
        skiff.namespace.delete("networkpolicy/open")
    assert skiff.namespace.items("pods") == [] or not [pod for pod in skiff.namespace.names("pods") if "trial" in pod]


@pytest.fixture
def pools(skiff):
    yield skiff
    for pool in skiff("pool", "status", "-o", "name")[0].split():
        skiff("pool", "rm", pool)


def test_a_pool_with_egress_is_fenced_while_it_waits(pools, outside):
    skiff = pools
    pool_json(skiff, "create", "warm", "-q", "--size", 2, "--egress")
    waiting = {pod["metadata"]["name"]: pod["metadata"] for pod in skiff.namespace.items("pods")}
    assert all(one["labels"]["skiff.dev/network"] == "egress" and one["annotations"]["skiff.dev/egress"] == "[]"
               for one in waiting.values()), waiting
    made = skiff.up("box", "--pool", "warm", "--egress", "pypi.org")
    assert made["details"]["pod"] in waiting and made["details"]["network"] == "egress by name: pypi.org"
    allowed, denied = skiff.through({"to": "pypi.org:443"}, {"to": "evil.org:443"})
    assert allowed["status"] == 200 and denied["code"] == "not_allowed"
    out, err = skiff("up", "other", "--pool", "warm")
    assert "other reaches nothing: skiff network other --egress HOST" in err
    assert skiff.through({"to": "pypi.org:443"}, name="other")[0]["code"] == "not_allowed"
    assert not any(skiff.reaches(f"{egress_world.FAR}:443", "10.96.0.1:443", name="other"))
    # A cold one reaches nothing either, and one that is started again keeps its rules.
    skiff("pool", "scale", "warm", 0)
    skiff.up("cold", "--pool", "warm")
    assert "egress by name: nothing" in skiff("describe", "cold")[0]
    skiff("network", "other", "--egress", "+pypi.org")
    until(lambda: skiff.through({"to": "pypi.org:443"}, name="other")[0]["status"] == 200, 30, "the rule reaches the proxy")
    skiff("stop", "other")
    skiff("start", "other")
    assert skiff.through({"to": "pypi.org:443"}, name="other")[0]["status"] == 200
    assert not any(skiff.reaches(f"{egress_world.FAR}:443", "10.96.0.1:443", name="other"))


def test_a_pool_without_egress_gives_no_sandbox_with_it(pools):
    skiff = pools
    pool_json(skiff, "create", "open", "-q", "--size", 0)
    assert "skiff pool create POOL --egress" in skiff("up", "box", "--pool", "open", "--egress", "pypi.org", status=125)[1]
    assert "omit --network" in skiff("pool", "create", "more", "--egress", "--network", "deny", status=125)[1]
    assert skiff("pool", "status", "-o", "name")[0].split() == ["open"]


def test_it_is_refused_where_no_proxy_is_and_not_removed_below_sandboxes(skiff, namespace, tmp_path):
    bare = Skiff(tmp_path, namespace)
    told = bare("up", "box", "--egress", "pypi.org", status=125)[1]
    assert "skiff egress install" in told and bare.namespace.of_skiff() == []
    told = bare("pool", "create", "warm", "--egress", status=125)[1]
    assert "skiff egress install" in told and bare.namespace.of_skiff() == []
    skiff.up("box", "--egress", "pypi.org")
    assert "would be without their fence" in skiff("egress", "install", "--remove", status=125)[1]


# --- through skiff serve ---

@pytest.fixture(scope="module")
def replicas(one):
    pair = Servers(one)
    yield pair
    pair.finish()


def codes(skiff, name, *places):
    return [one.get("code") or one["status"] for one in skiff.through(*({"to": place} for place in places), name=name)]


def test_a_client_of_the_server_names_what_its_pod_reaches_and_changes_it(skiff, replicas):
    name = replicas.make(egress=["PyPI.org", "files.example.com:443"])
    pod = skiff.pod(name)
    assert pod["metadata"]["labels"]["skiff.dev/network"] == "egress"
    assert codes(skiff, name, "pypi.org:443", "evil.org:443") == [200, "not_allowed"]
    assert not any(skiff.reaches(f"{egress_world.FAR}:443", "10.96.0.1:443", name=name))
    network = f"/v1/sandboxes/{name}/network"
    assert replicas("GET", network) == replicas("GET", network) == (200, {"egress": ["files.example.com", "pypi.org"]})
    staying = skiff.start("exec", name, "--", "python3", "by_name.py", json.dumps([{"to": "pypi.org:443", "stay": True}]))
    assert staying.stdout.readline() == b"pypi.org 443 hello\n"
    assert replicas("PUT", network, {"egress": ["evil.org"]}) == (200, {"egress": ["evil.org"]})
    assert staying.wait(30) == 0
    assert replicas("GET", network) == replicas("GET", network) == (200, {"egress": ["evil.org"]})
    until(lambda: codes(skiff, name, "pypi.org:443", "evil.org:443") == ["not_allowed", 200], 30, "the new rules")
    # Several change it at the same moment, through both servers: one of them holds as a whole, in the record and on the Pod.
    sets = [[f"{letter}{number}.example.org" for number in range(10)] for letter in "ab"]
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda i: replicas("PUT", network, {"egress": sets[i % 2]}, by=replicas.pair[i // 2 % 2])[0], range(8)))
    assert answers == [200] * 8
    [status, now] = replicas("GET", network)
    on_pod = json.loads(skiff.pod(name)["metadata"]["annotations"]["skiff.dev/egress"])
    assert status == 200 and now["egress"] == on_pod and on_pod in sets, (now, on_pod)
    for wrong in ({}, {"egress": ["10.0.0.1"]}, {"egress": ["@nobody"]}, {"egress": ["a.org"] * 1001}, {"egress": [1]}, {"egress": [f"{'x' * 60}.{'y' * 60}{i}.org" for i in range(200)]}):
        status, said = replicas("PUT", network, wrong)
        assert status in (400, 422) and "--egress" not in json.dumps(said), (wrong, said)
    # The agent's dialect is let in, and nothing else is: not even from another Pod of the namespace.
    ip = pod["status"]["podIP"]
    skiff.up("plain")
    listening = skiff.start("exec", name, "--", "python3", "-m", "http.server", "8000")
    until(lambda: skiff.reaches("127.0.0.1:8000", name=name)[1], 30, "that it listens")
    until(lambda: skiff.reaches(*(f"{ip}:{port}" for port in (7070, 49983, 8000, 3128)), name="plain")[1:] == [True, True, False, False], 30, "what is let in")
    listening.kill()
    listening.communicate()


def test_who_may_open_what_for_a_pod(skiff, replicas):
    use = skiff("key", "create", "use", "--scope", "use", "--tenant", skiff.namespace.name)[0].strip()
    opened, fenced = replicas.make(), replicas.make(egress=[])
    # An open one stays as it is: connections that it has would live on.
    for path, body in ((f"/v1/sandboxes/{opened}/network", {"egress": []}), (f"/sandboxes/{opened}/network", {"allow_internet_access": False})):
        assert replicas("PUT", path, body)[0] == 501
    assert replicas("PUT", f"/v1/sandboxes/{fenced}/network", {"egress": ["pypi.org"]}, use)[0] == 403
    assert replicas("POST", "/v1/sandboxes", {"template": "closed", "egress": ["pypi.org"]})[0] == 501
    narrow = replicas.start("--network", "deny")
    try:
        assert replicas("POST", "/v1/sandboxes", {"egress": ["pypi.org"]}, by=narrow)[0] == 501
        assert replicas("POST", "/sandboxes", {"network": {"allowOut": ["pypi.org"], "denyOut": [ALL]}}, by=narrow)[0] == 501
        for path, body in ((f"/v1/sandboxes/{fenced}/network", {"egress": ["*"]}), (f"/sandboxes/{fenced}/network", {})):
            assert replicas("PUT", path, body, by=narrow)[0] == 501
    finally:
        narrow.stop()
    assert replicas("GET", f"/v1/sandboxes/{fenced}/network") == (200, {"egress": []})
    skiff("key", "rm", "use")


def test_a_pool_behind_the_fence_gives_clients_what_they_ask_for(pools, replicas):
    skiff = pools
    pool_json(skiff, "create", "fenced", "-q", "--size", 2, "--egress", "--dialect", "e2b")
    waiting = {pod["metadata"]["name"]: pod for pod in skiff.namespace.items("pods")}
    skiff.up("plain")
    # Nobody reaches a dialect that has no token yet.
    assert not any(skiff.reaches(*(f"{pod['status']['podIP']}:49983" for pod in waiting.values()), name="plain")[1:])
    named, bare = replicas.make(template="warm", egress=["pypi.org"]), replicas.make(template="warm")
    details = [json.loads(skiff("describe", name, "-o", "json")[0])["details"] for name in (named, bare)]
    assert details[0]["pod"] in waiting and details[1]["pod"].startswith("skiff-pool-fenced-"), details
    assert [one["network"] for one in details] == ["egress by name: pypi.org", "egress by name: nothing"]
    assert codes(skiff, named, "pypi.org:443", "evil.org:443") == [200, "not_allowed"]
    assert codes(skiff, bare, "pypi.org:443") == ["not_allowed"]
    # All public again, through the proxy.
    assert replicas("PUT", f"/sandboxes/{bare}/network", {}) == (204, None)
    until(lambda: codes(skiff, bare, "pypi.org:443", "evil.org:443", "both.example.com:443") == [200, 200, "private_address"], 30, "all names")
    assert not any(skiff.reaches(f"{egress_world.FAR}:443", "10.96.0.1:443", name=bare))
    # A server that reaches Pods at their addresses, as in a cluster, finds the dialect open.
    with in_the_network_of_pods(replicas) as ask:
        made = ask("POST", "/v1/sandboxes", b'{"template": "warm", "egress": ["pypi.org"]}', replicas.key, {"Content-Type": "application/json"})
        assert made.status == 201, made.body
    denied = replicas.make(template="warm", network="deny")
    assert codes(skiff, denied, "pypi.org:443") == ["not_allowed"]
    pool_json(skiff, "create", "open", "-q", "--size", 0, "--dialect", "e2b")
    for rules in (["pypi.org"], []):
        status, said = replicas("POST", "/v1/sandboxes", {"template": "open", "egress": rules})
        assert (status, said["field"]) == (400, "egress") and "skiff pool create POOL --egress" in said["detail"], said


@pytest.mark.parametrize("program", ["e2b_network.py", "e2b_network.mjs"])
def test_the_sdks_name_what_a_pod_reaches(replicas, tmp_path, program):
    # Node looks for packages beside the program.
    (tmp_path / program).write_text((SCRIPTS / program).read_text())
    (tmp_path / "node_modules").symlink_to(installed.node_modules(E2B))
    replicas.run_sdk(installed.node() if program.endswith(".mjs") else installed.python_of(E2B / "newest.txt"), tmp_path / program)


def came_from(outside, words):
    """How often the servers have heard something that begins so; they tell its first eight bytes."""
    return sum(f" {words.encode().hex()}" in line for line in outside.seen())


@pytest.fixture
def long_race(watchdog):
    with watchdogs.at_most(LONGEST_RACE):
        yield


def test_nothing_passes_before_the_fence_or_after_the_end(skiff, outside, long_race):
    # Without a fence the servers do hear of it.
    plain = skiff.start("run", "-q", "plain", f"--image={PYTHON}", "--", "python3", "-c", RACE, "999")
    until(lambda: came_from(outside, "DIR 999"), 90, "a direct connection")
    skiff("rm", "-q", "--force", "plain")
    plain.communicate(timeout=60)
    passed = {}
    for first in range(100, 100 + RACES, RACES_AT_ONCE):
        numbers = range(first, min(first + RACES_AT_ONCE, 100 + RACES))
        # The command begins as soon as the sandbox takes one.
        running = [skiff.start("run", "-q", f"b{number}", f"--image={PYTHON}", "--egress", "http://pypi.org", "--", "python3", "-c", RACE, str(number))
                   for number in numbers]
        until(lambda: all(came_from(outside, f"PUT /{number}") for number in numbers), 90, "a request of each")
        skiff("rm", "-q", "--force", *(f"b{number}" for number in numbers))
        for number in numbers:
            passed[number] = until_still(lambda: came_from(outside, f"PUT /{number}"))
        for one in running:
            one.communicate(timeout=60)
    # Long after its end nothing more has come of any.
    assert {number: came_from(outside, f"PUT /{number}") for number in passed} == passed
    assert sum(came_from(outside, f"DIR {number}") for number in passed) == 0


def test_a_change_of_rules_cuts_at_once_under_load(skiff, long_race):
    skiff.up("box", "--egress", "pypi.org")
    inside = skiff.start("exec", "-i", "box", "--", "python3", "-u", "-c", CHANGES, stdin=subprocess.PIPE)
    refused, cut = [], []
    for _ in range(RACES):
        inside.stdin.write(b"next\n")
        inside.stdin.flush()
        assert inside.stdout.readline() == b"open\n"
        skiff.namespace.patch("pod/skiff-box", {"metadata": {"annotations": {"skiff.dev/egress": '["evil.org"]'}}})
        answered = time.time()
        at = list(map(float, inside.stdout.readline().split()))
        cut.append(1000 * (at[0] - answered))
        refused.append(1000 * (at[1] - answered))
        skiff.namespace.patch("pod/skiff-box", {"metadata": {"annotations": {"skiff.dev/egress": '["pypi.org"]'}}})
    inside.stdin.close()
    assert inside.wait(60) == 0
    for name, all_of_it in (("first refusal", sorted(refused)), ("cut", sorted(cut))):
        print(f"{RACES} changes, ms from the answer of the API server to the {name}: p50 {all_of_it[len(all_of_it) // 2]:.0f}, "
              f"p99 {all_of_it[len(all_of_it) * 99 // 100]:.0f}")
