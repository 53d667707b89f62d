"""Egress by name for clients of `skiff serve` with the driver box: its own API, and E2B's `network`."""

import json
import os
import threading

import pytest

from boxes import skiff  # noqa: F401
from egressing import outside, through  # noqa: F401
from inside import FollowedLog, Inside

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a laptop and an internet")
ALL = "0.0.0.0/0"


@pytest.fixture
def serving(skiff, outside):
    one = Inside(skiff, outside)
    yield one
    one.server.stop()


def keep_user(skiff, name="box"):
    skiff.users.add(skiff.record(name)["user"])


def codes(skiff, *places):
    return [one.get("code") or one["status"] for one in through(skiff, *({"to": place} for place in places))]


def test_a_client_names_what_its_sandbox_reaches_and_changes_it(skiff, outside, serving):
    status, made = serving("POST", "/v1/sandboxes", {"name": "box", "egress": ["PyPI.org", "files.example.com:443"]})
    assert status == 201, made
    keep_user(skiff)
    assert serving.rules() == ["files.example.com", "pypi.org"]
    assert codes(skiff, "pypi.org:443", "evil.org:443") == [200, "not_allowed"]
    stays = skiff.start("exec", "box", "--", "python3", "/tmp/by_name.py", json.dumps([{"to": "pypi.org:443", "stay": True}]))
    assert stays.stdout.readline().endswith(b"443 hello\n")
    assert serving("PUT", "/v1/sandboxes/box/network", {"egress": ["evil.org"]}) == (200, {"egress": ["evil.org"]})
    assert stays.wait(60) is not None
    assert codes(skiff, "pypi.org:443", "evil.org:443") == ["not_allowed", 200]
    assert serving("PUT", "/v1/sandboxes/box/network", {"egress": []}) == (200, {"egress": []})
    assert codes(skiff, "evil.org:443") == ["not_allowed"]
    hosts = {"egress": ["files.pythonhosted.org", "pypi.org"]}
    assert serving("PUT", "/v1/sandboxes/box/network", {"egress": ["@pypi"]}) == (200, hosts)
    assert serving("PUT", "/v1/sandboxes/box/network", {"egress": []})[0] == 200
    # A wrong body changes nothing.
    for wrong in ({}, {"egress": None}, {"egress": ["10.0.0.1"]}, {"egress": ["localhost"]}, {"egress": ["a.org"] * 1001}, {"egress": ["a\u0000.org"]},
                  {"egress": [1]}, {"egress": ["*.org "]}, {"egress": ["@nobody"]}, {"egress": ["@pypi:443"]}, {"egress": ["a.org"], "more": 1}, {"egress": ["http://a.org/x"]}):
        status, said = serving("PUT", "/v1/sandboxes/box/network", wrong)
        assert status in (400, 422), (wrong, said)
        assert wrong == {} or serving.rules() == []
        assert "--egress" not in json.dumps(said), "a client knows fields and no flags"


def test_only_who_may_create_changes_it_and_nobody_opens_what_was_open(skiff, outside, serving):
    assert serving("POST", "/v1/sandboxes", {"name": "box"})[0] == 201
    keep_user(skiff)
    status, said = serving("PUT", "/v1/sandboxes/box/network", {"egress": ["pypi.org"]})
    assert (status, said["code"]) == (501, "not_supported") and serving.rules() == "not_supported"
    assert serving("PUT", "/sandboxes/box/network", {"allowOut": ["pypi.org"], "denyOut": [ALL]})[0] == 501
    use, other = (skiff("key", "create", *words)[0].strip() for words in (("use", "--scope", "use"), ("other", "--tenant", "other")))
    assert serving("POST", "/v1/sandboxes", {"name": "closed", "egress": []})[0] == 201
    keep_user(skiff, "closed")
    for path, body in (("/v1/sandboxes/closed/network", {"egress": ["pypi.org"]}), ("/sandboxes/closed/network", {})):
        assert serving("PUT", path, body, use)[0] == 403
        assert serving("PUT", path, body, other)[0] == 404
    assert serving.rules("closed") == []
    status, said = serving("POST", "/v1/sandboxes", {"network": "deny", "egress": ["pypi.org"]})
    assert (status, said["code"]) == (400, "invalid_field")


def test_a_narrower_server_opens_no_name(skiff, outside):
    serving = Inside(skiff, outside, "--network", "deny")
    try:
        assert serving("POST", "/v1/sandboxes", {"egress": ["pypi.org"]})[0] == 501
        assert serving("POST", "/sandboxes", {"network": {"allowOut": ["pypi.org"], "denyOut": [ALL]}})[0] == 501
    finally:
        serving.server.stop()


def test_of_two_changes_at_once_one_holds_as_a_whole(skiff, outside, serving):
    assert serving("POST", "/v1/sandboxes", {"name": "box", "egress": []})[0] == 201
    keep_user(skiff)
    sets = [[f"{letter}{number}.example.com" for number in range(20)] for letter in "ab"]
    threads = [threading.Thread(target=serving, args=("PUT", "/v1/sandboxes/box/network", {"egress": sets[number % 2]})) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert serving.rules() in [sorted(one) for one in sets]


def test_names_are_added_and_removed_and_none_is_lost(skiff, outside, serving):
    assert serving("POST", "/v1/sandboxes", {"name": "box", "egress": ["pypi.org"]})[0] == 201
    keep_user(skiff)
    names = [f"a{number}.example.com" for number in range(8)]
    threads = [threading.Thread(target=serving, args=("PATCH", "/v1/sandboxes/box/network", {"add": [name]})) for name in names]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert serving.rules() == [*names, "pypi.org"]
    assert serving("PATCH", "/v1/sandboxes/box/network", {"add": ["evil.org"], "remove": names}) == (200, {"egress": ["evil.org", "pypi.org"]})
    assert codes(skiff, "evil.org:443", "a1.example.com:443") == [200, "not_allowed"]
    assert serving("PATCH", "/v1/sandboxes/box/network", {}) == (200, {"egress": ["evil.org", "pypi.org"]})
    for wrong in ({"add": ["localhost"]}, {"add": ["b.org"], "remove": ["c.org"]}, {"remove": "evil.org"}, {"add": ["b.org"], "rules": []}):
        assert serving("PATCH", "/v1/sandboxes/box/network", wrong)[0] in (400, 422), wrong
    assert serving.rules() == ["evil.org", "pypi.org"]
    use, other = (skiff("key", "create", *words)[0].strip() for words in (("use", "--scope", "use"), ("other", "--tenant", "other")))
    assert [serving("PATCH", "/v1/sandboxes/box/network", {"add": ["b.org"]}, key)[0] for key in (use, other)] == [403, 404]


def test_the_log_is_followed_until_the_sandbox_is_removed(skiff, outside, serving):
    assert serving("POST", "/v1/sandboxes", {"name": "box", "egress": ["pypi.org"]})[0] == 201
    keep_user(skiff)
    assert codes(skiff, "pypi.org:443", "evil.org:8443") == [200, "not_allowed"]
    log = FollowedLog(serving).events()
    first = [next(log) for _ in range(3)]
    assert {event for event, _ in first} == {"line"}
    assert sorted((one["verdict"], one["host"], one.get("rule")) for _, one in first) == [
        ("allowed", "pypi.org", None), ("denied", "evil.org", "evil.org:8443"), ("ended", "pypi.org", None)]
    assert codes(skiff, "other.org:443") == ["not_allowed"]
    assert next(log)[1]["host"] == "other.org"
    assert serving("DELETE", "/v1/sandboxes/box")[0] == 204
    assert list(log) == []


def test_a_log_ends_with_its_key_and_is_nobody_elses(skiff, outside, serving):
    assert serving("POST", "/v1/sandboxes", {"name": "box", "egress": []})[0] == 201
    keep_user(skiff)
    assert serving("POST", "/v1/sandboxes", {"name": "bare"})[0] == 201
    keep_user(skiff, "bare")
    assert serving("GET", "/v1/sandboxes/bare/network/log")[1]["code"] == "not_supported"
    assert serving("GET", "/v1/sandboxes/none/network/log")[0] == 404
    use, other = (skiff("key", "create", *words)[0].strip() for words in (("use", "--scope", "use"), ("other", "--tenant", "other")))
    assert serving("GET", "/v1/sandboxes/box/network/log", key=other)[0] == 404
    assert codes(skiff, "evil.org:443") == ["not_allowed"]
    log = FollowedLog(serving, use).events()
    assert next(log)[1]["host"] == "evil.org"
    skiff("key", "rm", "use")
    event, problem = next(log)
    assert (event, problem["code"]) == ("error", "unauthenticated") and list(log) == []


def test_what_harbor_sends(skiff, outside, serving):
    """Its three bodies: some hosts, nothing, everything."""
    status, made = serving("POST", "/v2/sandboxes", {"network": {"allowOut": ["pypi.org", "*.wild.example.com"], "denyOut": [ALL]}, "timeout": 600})
    assert status == 201, made
    name = made["sandboxID"]
    keep_user(skiff, name)
    both = ["*.wild.example.com", "http://*.wild.example.com", "http://pypi.org", "pypi.org"]
    assert sorted(serving.rules(name)) == both
    # A body that is none changes nothing.
    for wrong in (None, [], "all", {"allowOut": "evil.org"}):
        assert serving("PUT", f"/sandboxes/{name}/network", wrong)[0] in (400, 422), wrong
    assert sorted(serving.rules(name)) == both
    assert serving("PUT", f"/sandboxes/{name}/network", {"allow_internet_access": False}) == (204, None)
    assert serving.rules(name) == []
    assert serving("PUT", f"/sandboxes/{name}/network", {"allowOut": ["evil.org"], "denyOut": [ALL]}) == (204, None)
    assert sorted(serving.rules(name)) == ["evil.org", "http://evil.org"]
    # The template's network is none here.
    assert serving("PUT", f"/sandboxes/{name}/network", {}) == (204, None) and serving.rules(name) == []


def test_a_server_with_an_open_network_opens_every_name(skiff, outside):
    serving = Inside(skiff, outside, "--network", "open")
    try:
        status, made = serving("POST", "/sandboxes", {"allow_internet_access": False, "timeout": 600})
        assert status == 201, made
        name = made["sandboxID"]
        keep_user(skiff, name)
        assert serving.rules(name) == []
        assert serving("PUT", f"/sandboxes/{name}/network", {}) == (204, None)
        assert sorted(serving.rules(name)) == ["*", "http://*"]
    finally:
        serving.server.stop()


def test_what_e2b_fields_cannot_say_is_refused(skiff, outside, serving):
    def refusal(network, **more):
        status, said = serving("POST", "/sandboxes", {"network": network, **more})
        return status, said["message"]

    status, said = refusal({"allowOut": ["pypi.org"]})
    assert status == 400 and "you must include 'ALL_TRAFFIC' in deny out" in said
    assert refusal({"allowOut": ["pypi.org"]}, allow_internet_access=True)[0] == 400
    for place in ("10.0.0.1", "10.0.0.0/8", "::1", "2001:db8::/32"):
        assert refusal({"allowOut": [place], "denyOut": [ALL]})[0] == 501, place
    for name in ("@pypi", "evil.org:22", "https://evil.org", "localhost", "*.org", "", " ", "a..org", "evil.org/x", "é.org", "0x7f.1", "a.org\u0000", "x" * 300 + ".org"):
        status, said = refusal({"allowOut": [name], "denyOut": [ALL]})
        assert status in (400, 501), (name, status, said)
    assert refusal({"allowOut": [f"n{number}.example.com" for number in range(501)], "denyOut": [ALL]})[0] == 400
    for network in ({"denyOut": ["evil.org"]}, {"allowOut": "pypi.org"}, {"allowOut": [1]}, {"allowOut": {"a": 1}}, "all", [1]):
        assert refusal(network)[0] == 400, network
    for field, value in (("rules", {"a.example": []}), ("egressProxy", {"address": "a:1"}), ("dnsServers", ["1.1.1.1"]), ("later", 1),
                         ("denyOut", ["8.8.8.8/32"]), ("allowPublicTraffic", False)):
        assert refusal({field: value})[0] == 501, field
