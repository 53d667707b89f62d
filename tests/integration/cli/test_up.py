"""`skiff up`: how a sandbox begins, on this machine. What it refuses of a cluster is in test_up_bad_input.py."""

import http.client
import json
import os
import signal
import stat

import pytest

import proc
from launcher import DRIVER, NOTICE
from waiting import until


def test_a_sandbox_is_made_used_and_removed(skiff):
    out, err = skiff("up", "box")
    assert out.startswith("box is up at unix:" if DRIVER == "box" else "box is up at http://127.0.0.1:")
    assert NOTICE in err and "box: ready" in err
    assert skiff("exec", "box", "--", "sh", "-c", "echo out; echo err >&2; exit 7", status=7) == ("out\n", "err\n")
    assert skiff("rm", "box", "box")[0] == "box\n"
    assert skiff.names() == [] and not skiff.processes()
    out, err = skiff("rm", "box")  # one that is not there counts as removed
    assert out == "" and err.startswith(f"skiff: box: there is none (driver {DRIVER}, "), err


def test_a_sandbox_outlives_the_skiff_that_made_it(skiff):
    made = skiff.up()
    pid = int(made["details"]["pid"])
    assert proc.alive(pid) and os.getsid(pid) == pid
    assert skiff.json("describe", "box")["agent"]["sandbox_id"] == made["id"]


def test_only_the_user_may_read_skiffs_state(skiff):
    skiff.up()
    for folder in (skiff.state / "skiff", skiff.sandboxes, skiff.sandboxes / "box", skiff.sandboxes / "box/root"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700, folder
    log = [skiff.sandboxes / "box/skiffd.log"] if DRIVER != "docker" else []  # that of a container is the engine's
    for file in (skiff.state / "skiff/signing-key.pem", skiff.sandboxes / "box/record.json", *log):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    (skiff.state / "skiff").chmod(0o755)
    skiff("ps")
    assert stat.S_IMODE((skiff.state / "skiff").stat().st_mode) == 0o700


def test_a_name_is_taken_once(skiff):
    first = skiff.up()
    assert "already" in skiff("up", "box", status=125)[1]
    again = skiff.json("up", "box", "--get-or-create", "-q")
    assert (first["new"], again["new"], again["id"]) == (True, False, first["id"])
    assert "lower-case" in skiff("up", "../box", status=125)[1]


def test_two_at_once_make_one_sandbox(skiff):
    processes = [skiff.start("up", "box", "--get-or-create", "-o", "json") for _ in range(4)]
    outcomes = [process.communicate(timeout=100) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, outcomes
    assert sum(b'"new": true' in out for out, _ in outcomes) == 1
    assert len(skiff.processes()) == 1
    removers = [skiff.start("rm", "box") for _ in range(3)]
    outs = [process.communicate(timeout=100)[0] for process in removers]
    assert [process.returncode for process in removers] == [0] * 3
    assert sorted(outs) == [b"", b"", b"box\n"]


def test_up_without_a_name_makes_one_and_a_uuid_is_one(skiff):
    name = skiff("up", "-o", "name")[0].strip()
    assert name.startswith("box-") and skiff.names() == [name]
    uuid = "018f2c6e-7b1a-7c52-9d3e-0a4b5c6d7e8f"
    assert skiff.up(uuid)["name"] == uuid
    assert skiff("exec", uuid, "echo", "in")[0] == "in\n"


def test_up_makes_several_at_once(skiff):
    made = json.loads(skiff("up", "box", "--count", "3", "-q", "-o", "json")[0])["items"]
    assert [(one["name"], one["state"], one["new"]) for one in made] == [(f"box-{number}", "running", True) for number in (1, 2, 3)]
    assert len({one["id"] for one in made}) == 3
    # A failure leaves the others alone.
    out, err = skiff("up", "box", "--count", "4", "-q", "-o", "name", status=125)
    assert out == "box-4\n" and err.count("there is a sandbox") == 3 and "not everything could be brought up" in err, err
    assert sorted(skiff.names()) == ["box-1", "box-2", "box-3", "box-4"]
    assert "--count" in skiff("up", "other", "--count", "0", status=125)[1]
    assert "--count" in skiff("up", "other", "--count", "2", "--dry-run", status=125)[1]
    assert "lower-case" in skiff("up", "x" * 49, "--count", "2", status=125)[1]
    assert sorted(skiff.names()) == ["box-1", "box-2", "box-3", "box-4"]


def test_an_interrupt_of_several_leaves_none(skiff):
    process = skiff.start("up", "box", "--count", "2", "--setup", "exec sleep 1000")
    until(lambda: sorted(skiff.names()) == ["box-1", "box-2"], 60, "both")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=100)
    assert process.returncode == 130, err
    assert skiff.names() == [] and not skiff.processes()


def test_several_are_removed_at_the_end_of_up(skiff):
    process = skiff.start("up", "box", "--count", "2", "--rm-on-exit", "-q")
    for number in (1, 2):
        assert process.stdout.readline().startswith(f"box-{number} is up at ".encode())
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    process.communicate()
    assert skiff.names() == [] and not skiff.processes()


def test_what_up_cannot_print_does_not_stay_with_rm_on_exit(skiff):
    with open("/dev/full", "wb") as full:
        process = skiff.start("up", "box", "--rm-on-exit", "-q", stdout=full)
        process.communicate(timeout=100)
    assert process.returncode == 125
    assert skiff.names() == [] and not skiff.processes()


def test_up_may_remove_its_sandbox_at_its_end(skiff):
    process = skiff.start("up", "box", "--rm-on-exit")
    assert process.stdout.readline().startswith(b"box is up at ")
    assert skiff("exec", "box", "echo", "in")[0] == "in\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 143
    process.communicate()
    assert skiff.names() == [] and not skiff.processes()


def test_up_tells_how_an_existing_sandbox_differs(skiff):
    skiff.up("box", "--label", "team=a")
    err = skiff("up", "box", "--get-or-create", "--label", "team=b", "--ttl", "1h")[1]
    assert "box: its label team is a, not b" in err and "skiff extend box" in err
    assert "label" not in skiff("up", "box", "--get-or-create", "--label", "team=a")[1]


def test_up_refuses_variables_that_set_up_the_agent(skiff):
    err = skiff("up", "box", "--env", "SKIFF_LISTEN=0.0.0.0:1", status=125)[1]
    assert "--env SKIFF_LISTEN" in err and skiff.names() == []


def test_an_interrupt_in_the_middle_of_up_leaves_nothing(skiff):
    process = skiff.start("up", "box", "--setup", "touch began; exec sleep 1000")
    until(lambda: (skiff.root() / "began").exists(), what="the setup")
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    process.communicate()
    assert skiff.names() == [] and not skiff.processes()


def test_a_setup_that_fails_shows_its_output_and_leaves_nothing(skiff):
    err = skiff("up", "box", "--setup", "echo went wrong; exit 3", status=125)[1]
    assert "went wrong" in err
    assert skiff.names() == []


# --- dialects; of a cluster: tests/kubernetes/launcher/test_dialects.py ---

def ask(address, method, path, body=None):
    client = http.client.HTTPConnection(address, timeout=30)
    try:
        client.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"} if body else {})
        reply = client.getresponse()
        return reply.status, json.loads(reply.read())
    finally:
        client.close()


def test_up_prints_the_free_port_of_each_dialect(skiff):
    details = skiff.up("box", "--dialect", "python-runtime", "--dialect", "sandboxd")["details"]
    assert ask(details["python-runtime"], "GET", "/")[1]["status"] == "ok"
    assert ask(details["sandboxd-rest"], "GET", "/v1/health")[1]["status"] == "ok"
    assert details["sandboxd-grpc"].startswith("127.0.0.1:")
    status, told = ask(details["python-runtime"], "POST", "/execute", {"command": "pwd; echo $HOME >&2"})
    assert (status, told["stdout"], told["exit_code"]) == (200, f"{skiff.workdir()}\n", 0)
    # The agent's own port is as it always is.
    assert skiff("exec", "box", "--", "echo", "here")[0] == "here\n"
    assert {name: skiff.json("describe", "box")["details"][name] for name in ("python-runtime", "sandboxd-grpc")}.items() <= details.items()


def test_two_sandboxes_on_one_machine_have_different_dialect_ports(skiff):
    addresses = {skiff.up(name, "--dialect", "python-runtime")["details"]["python-runtime"] for name in ("one", "two")}
    assert len(addresses) == 2
    for address in addresses:
        assert ask(address, "GET", "/")[0] == 200


def test_a_sandbox_speaks_its_dialect_when_it_starts_again(skiff):
    skiff.up("box", "--dialect", "python-runtime")
    skiff("stop", "box")
    assert "python-runtime" not in skiff.json("describe", "box")["details"]
    started = skiff.json("start", "box", "-q")
    assert ask(started["details"]["python-runtime"], "GET", "/")[1]["status"] == "ok"
    assert skiff.record()["dialects"] == ["python-runtime"]


def test_a_record_from_before_there_were_dialects_is_read(skiff):
    skiff.up("box")
    record = skiff.record()
    file = skiff.sandboxes / "box/record.json"
    file.write_text(json.dumps({name: value for name, value in record.items() if not name.startswith("dialect")}))
    assert skiff("exec", "box", "--", "echo", "here")[0] == "here\n"


@pytest.mark.parametrize("words, told", [
    (["--dialect", "nope"], "expected one of"),
    (["--dialect", "python-runtime=0.0.0.0:8888"], "expected one of"),
    (["--dialect", "sandboxd", "--dialect", "sandboxd"], "is given twice"),
    (["--dialect", "python-runtime", "--port", "8888"], "--dialect has it already"),
    (["--dialect", "kubebox", "--service", "loadbalancer"], "restrict access with --allow CIDR"),
])
def test_wrong_dialect_flags_are_refused_before_a_sandbox_is_created(skiff, words, told):
    assert told in skiff("up", "box", *words, status=125)[1]
    assert skiff.names() == [] and not skiff.processes()


def test_a_manifest_has_the_ports_of_its_dialects(skiff):
    printed = skiff("manifest", "box", "--driver", "pod", "--dry-run=client", "--image", "i", "--agent-image", "a",
                    "--dialect", "sandboxd", "--network", "deny", "-o", "json")[0]
    objects = {one["kind"]: one["spec"] for one in json.loads(printed)["items"] if "spec" in one}
    assert [one["port"] for one in objects["Service"]["ports"]] == [7070, 8080, 9090]
    assert [one["port"] for one in objects["NetworkPolicy"]["ingress"][0]["ports"]] == [7070, 8080, 9090]
    (container,) = objects["Pod"]["containers"]
    assert {"name": "SKIFF_DIALECT", "value": "sandboxd=[::]:8080,[::]:9090"} in container["env"]
