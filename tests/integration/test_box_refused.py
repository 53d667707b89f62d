"""Where this machine bars boxes: skiff refuses, says which setting it is and what to do, and isolates nothing less."""

import json
import os
import subprocess

import pytest

import boxes

ORDINARY = boxes.USERS["user"]

#: What bars it: a script before `exec "$@"` in a user namespace of an ordinary user, and what skiff says then.
BARRED = {
    "no namespaces": ("echo 0 > /proc/sys/user/max_user_namespaces",
                      ["user.max_user_namespaces is 0", "sudo sysctl -w user.max_user_namespaces=15000"]),
    "covered /proc": ("mount -t tmpfs none /proc/acpi",
                      ["covers parts of /proc", "--security-opt systempaths=unconfined"]),
}


@pytest.fixture(params=["box", None], ids=["named", "chosen"])
def driver(request):
    """How skiff has come to the driver box: somebody has named it, or nothing points to a cluster."""
    return request.param


@pytest.fixture(params=BARRED)
def barred(request, driver, tmp_path):
    script, words = BARRED[request.param]
    boxes.need_boxes(ORDINARY)
    skiff = boxes.BoxSkiff(tmp_path, ORDINARY)
    skiff.driver = driver
    way = [*boxes.as_user(ORDINARY), "unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc",
           "sh", "-c", f'{script} && exec "$@"', "sh"]
    if subprocess.run([*way, "true"], capture_output=True, timeout=30).returncode:
        pytest.skip(f"not run: {script} cannot be done here")
    skiff.command = [*way, skiff.program]
    yield skiff, words
    assert skiff.names() == []


WAYS_ON = ": --driver local"


@pytest.mark.parametrize("command", [("up", "box"), ("run", "--", "touch", "ran"), ("serve", "--listen", "127.0.0.1:0"),
                                     ("serve", "--dev", "--listen", "127.0.0.1:0")], ids=" ".join)
def test_it_is_refused_with_the_reason_and_the_ways_on(barred, command):
    skiff, words = barred
    out, err = skiff(*command, status=125)
    assert out == "" and "a box can't be made: " in err, err
    for word in (*words, WAYS_ON):
        assert word in err, (word, err)
    assert not list(skiff.work.iterdir()) and not os.path.exists("ran")


def test_a_client_of_mcp_is_told_and_so_is_its_log(barred):
    skiff, words = barred
    typed = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}}})
    out, err = skiff("mcp", typed=typed.encode() + b"\n")
    told = json.loads(out)["error"]["message"]
    for word in ("a box can't be made: ", *words, WAYS_ON):
        assert word in told and word in err, (word, told, err)


def test_doctor_says_the_same(barred):
    skiff, words = barred
    out, _ = skiff("doctor", status=125)
    assert "FAILED" in out
    for word in words:
        assert word in out, out


def test_the_reason_has_a_word_for_programs(barred):
    skiff, _ = barred
    _, err = skiff("up", "box", "-o", "json", status=125)
    assert "can't be made" in err
