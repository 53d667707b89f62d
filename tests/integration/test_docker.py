"""The driver docker: sandboxes as containers of a real engine, with the real binaries."""

import json
import os
import signal
import urllib.request

import pytest

import engines
import proc
from engines import by_docker, podman, skiff  # noqa: F401
from waiting import until


def test_a_container_has_the_agent_as_its_first_process(skiff):
    made = skiff.up("demo")
    assert made["driver"] == "docker" and made["image"] == engines.IMAGE
    assert made["address"].startswith("http://127.0.0.1:") and made["details"]["engine"] in ("podman", "docker")
    said = skiff.sh("id -u; id -g; hostname; pwd; tr '\\0' ' ' < /proc/1/cmdline | cut -d' ' -f1; touch x && echo writable", "demo")
    assert said.split() == ["1000", "1000", "demo", "/workspace", "skiffd", "writable"]
    assert list(skiff.containers().values()) == [made["details"]["container"]]


def test_a_sandbox_with_an_image_is_a_container_if_no_driver_is_named(skiff):
    auto = {"SKIFF_DRIVER": "auto", "SKIFF_IMAGE": ""}
    made = skiff.json("up", "demo", "-q", "--image", engines.IMAGE, env=auto)
    assert made["driver"] == "docker"
    assert skiff("exec", "demo", "--", "echo", "there", env=auto)[0] == "there\n"
    assert "--driver docker" in skiff("ps", env=auto)[1]
    skiff("rm", "demo", "-q", env=auto)
    assert skiff.names() == []


def test_it_has_no_rights(skiff):
    skiff.up()
    status = dict(line.split(":\t") for line in skiff.sh("cat /proc/self/status").splitlines() if ":\t" in line)
    for capabilities in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[capabilities], 16) == 0, capabilities
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
    refused = "for f in /.skiff/skiffd /.skiff/launch.json /.skiff/new /new; do ( : > $f ) 2>/dev/null && echo $f; done; rm -rf /.skiff 2>/dev/null"
    assert skiff.sh(f"{refused}; ls /.skiff").split() == ["launch.json", "skiffd"]
    assert "SKIFF_" not in skiff.sh("env")


def test_stop_keeps_the_files_and_start_makes_it_again(skiff):
    first = skiff.up("box", "-e", "WHO=me", "-e", "LINES=a\n'b\"")
    skiff.sh("echo kept > file")
    skiff("stop", "box")
    assert skiff.json("ps")["items"][0]["state"] == "stopped"
    assert "is stopped" in skiff("exec", "box", "--", "true", status=125)[1]
    again = skiff.json("start", "box", "-q")
    assert again["id"] == first["id"]
    assert skiff.sh("cat file; echo $WHO; echo \"$LINES\"") == "kept\nme\na\n'b\"\n"


def test_run_gives_output_and_status(skiff):
    out, _ = skiff("run", "-q", engines.IMAGE, "--", "sh", "-c", "echo out; exit 7", status=7)
    assert out == "out\n" and skiff.names() == [] and skiff.containers() == {}


def test_files_are_copied_in_and_out(skiff):
    skiff.up()
    (skiff.work / "in").mkdir()
    (skiff.work / "in/file").write_text("in")
    skiff("cp", "-q", "in", "box:")
    assert skiff.sh("cat in/file; echo out > in/out") == "in"
    skiff("cp", "-q", "box:in/out", "out")
    assert (skiff.work / "out").read_text() == "out\n"


def test_without_a_network_the_agent_is_reached(skiff):
    made = skiff.up("box", "--network", "deny")
    assert made["details"]["network"] == "none" and made["address"].split(":")[0] in ("podman", "docker")
    assert skiff.sh("ls /sys/class/net").split() == ["lo"]
    assert skiff.sh("head -c 300000 /dev/zero | tr '\\0' a | wc -c").strip() == "300000"
    (skiff.work / "file").write_text("in")
    skiff("cp", "-q", "file", "box:file")
    assert skiff.sh("cat file") == "in"
    skiff("stop", "box")
    skiff("start", "box", "-q")
    assert skiff.sh("cat file") == "in"


@pytest.mark.parametrize("network", ["open", "deny"])
def test_a_port_is_forwarded(skiff, network):
    skiff.up("box", "--network", network)
    skiff.sh("mkdir www && echo page > www/index.html && (httpd -p 127.0.0.1:8000 -h www)")
    process = skiff.start("forward", "box", ":8000")
    try:
        address = process.stdout.readline().decode().split(" -> ")[0]
        with urllib.request.urlopen(f"http://{address}/index.html", timeout=60) as page:
            assert page.read() == b"page\n"
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()


def test_a_dialect_is_reached_without_being_published(skiff):
    made = skiff.up("box", "--dialect", "sandboxd")
    published = json.loads(skiff.podman("inspect", made["details"]["container"]))[0]["NetworkSettings"]["Ports"]
    assert list(published) == ["7070/tcp"], "its ports ask for no credential"
    listening = skiff.sh("netstat -ltn").split()
    assert "127.0.0.1:8080" in listening and "0.0.0.0:7070" in listening, listening


def test_limits_are_held(skiff):
    made = skiff.up("box", "--memory", "64Mi", "--cpu", "500m")
    limits = json.loads(skiff.podman("inspect", made["details"]["container"]))[0]["HostConfig"]
    assert (limits["Memory"], limits["PidsLimit"]) == (64 << 20, 2048)
    assert limits.get("NanoCpus") == 500_000_000 or limits["CpuQuota"] * 2 == limits["CpuPeriod"]
    assert made["details"]["limits"] == "2048 processes, 64 MiB memory, 500 thousandths of a core, disk not limited"


def test_the_user_of_the_image(skiff):
    skiff.up("root", "--run-as", "image")
    assert skiff.sh("id -u; touch here && echo writable", "root").split() == ["0", "writable"]
    skiff.up("user", "--image", engines.WITH_USER, "--run-as", "image", "--workdir", "/srv/work")
    assert skiff.sh("id -u; pwd; touch here && echo writable", "user").split() == ["1000", "/srv/work", "writable"]


def test_a_lease_ends_it_and_gc_removes_it(skiff):
    skiff.up("box", "--ttl", "1s")
    until(lambda: skiff.json("ps")["items"][0]["state"] == "ended")
    told = skiff.json("describe", "box")
    assert told["reason"] == "the lease is over", told
    assert skiff.json("gc")["deleted"][0]["name"] == "box" and skiff.containers() == {}


def test_a_lease_that_was_renewed_holds_after_the_next_start(skiff):
    skiff.up("box", "--ttl", "1h")
    skiff("extend", "box", "--ttl", "2h")
    skiff("stop", "box")
    skiff("start", "box", "-q")
    plan = json.loads(skiff.sh("cat /.skiff/launch.json"))
    assert plan["arguments"][plan["arguments"].index("--ttl") + 1] == str(2 * 3600 * 1000)


def test_an_agent_that_was_killed_is_told_and_starts_again(skiff):
    pid = int(skiff.up()["details"]["pid"])
    skiff.sh("echo kept > file")
    os.kill(pid, 9)
    until(lambda: not proc.alive(pid))
    told = skiff.json("ps")["items"][0]
    assert told["state"] == "failed" and told["reason"].startswith("its container was killed")
    skiff("start", "box", "-q")
    assert skiff.sh("cat file") == "kept\n"


def test_labels_with_a_domain_are_on_the_container(skiff):
    made = skiff.up("box", "--label", "example.org/team=a b", "--label", "plain=x")
    labels = json.loads(skiff.podman("inspect", made["details"]["container"]))[0]["Config"]["Labels"]
    assert labels["example.org/team"] == "a b" and "plain" not in labels
    assert labels["dev.skiff.name"] == "box" and labels["dev.skiff.id"] == made["id"]
    assert skiff.json("ps", "--label", "plain=x")["items"][0]["name"] == "box"


def test_an_entrypoint_runs_beside_the_agent(skiff):
    skiff.up("box", "--entrypoint", "sh -c 'echo beside > /workspace/said; exec sleep 1000'")
    until(lambda: skiff.sh("cat said 2>/dev/null; true") == "beside\n")


def test_a_container_that_somebody_removed_is_told(skiff):
    made = skiff.up()
    skiff.podman("rm", "-f", "-t", "0", made["details"]["container"])
    assert skiff.json("ps")["items"][0]["state"] == "failed"
    assert "was removed by another program" in skiff("start", "box", status=125)[1]
    skiff("rm", "box", "-q")


@pytest.mark.parametrize(("flags", "why"), [
    (["--image", "skiff.test/nothere:1"], "create` failed"),
    (["--image", "-v"], "--image"),
    (["--image", "a b"], "--image"),
    (["--disk", "1Gi"], "--disk"),
    (["--network", "dns"], "--network"),
    (["--seccomp", "Localhost/x"], "--seccomp"),
    (["--volume", "1Gi:/data"], "--volume"),
    (["--memory", "1"], "--memory"),
])
def test_what_cannot_be_had_is_refused(skiff, flags, why):
    _, err = skiff("up", "box", "-q", *flags, status=125)
    assert why in err and skiff.names() == [] and skiff.containers() == {}


def test_an_image_needs_nothing(skiff, tmp_path):
    archive = tmp_path / "empty.tar"
    archive.write_bytes(engines.images.Layer().folder("etc").done())
    skiff.podman("import", "--change", "ENTRYPOINT=[\"/x\"]", str(archive), "skiff.test/empty:1")
    skiff.up("box", "--image", "skiff.test/empty:1")
    assert skiff("exec", "box", "--", "/.skiff/skiffd", "version")[0].startswith("skiffd ")


def test_the_log_of_the_agent_is_that_of_its_container(skiff):
    skiff.up()
    assert "skiffd listening on" in skiff("logs", "box", "--agent")[0]
    assert len(skiff("logs", "box", "--agent", "--tail", "1")[0].splitlines()) == 1


def test_doctor_names_the_engine(skiff):
    checks = {one["what"]: one for one in json.loads(skiff("doctor", "-o", "json")[0])["items"]}
    assert checks["engine"]["passed"] and checks["engine"]["detail"] in ("podman", "docker")
    assert checks["limits"]["detail"].startswith("memory yes, CPU yes, processes yes, disk no")
