"""--network open: a box reaches the internet, and neither this machine nor the networks around it, whatever way a program takes."""

import json
import os
import pathlib
import random
import re
import signal
import time

import pytest

import laptop
import proc
from boxes import skiff  # noqa: F401
from waiting import until

PROBE = pathlib.Path(__file__).parent / "box_probes/outward.py"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a laptop and an internet")


@pytest.fixture
def outside(skiff, tmp_path):
    usual = skiff.command
    with laptop.laptop(tmp_path) as one:
        skiff.command = [*one.words, *usual]
        yield one
        skiff.command = usual
        skiff("rm", "--all", "--everyone", "-q", "-f")


def pastas(skiff):
    owners = skiff.users | {skiff.uid}
    return [pid for pid in proc.pids() if "pasta0" in proc.command_line(pid) and os.stat(f"/proc/{pid}").st_uid in owners]


def reached(skiff, *hosts):
    skiff("cp", "-q", PROBE, "box:/tmp/outward.py")
    return json.loads(skiff("exec", "box", "--", "python3", "/tmp/outward.py", json.dumps(hosts))[0])


def network_in_doctor(skiff, **options):
    (found,) = [one for one in skiff.json("doctor", **options)["items"] if one["what"] == "--network open"]
    return found


def test_doctor_tries_the_network(skiff, outside):
    said = network_in_doctor(skiff)
    assert said["offered"] and said["detail"].startswith("by /"), said
    assert not pastas(skiff) and not skiff.processes()


def test_the_internet_is_reached_by_address_and_by_name(skiff, outside):
    made = skiff.up("box", "--network", "open")
    assert made["details"]["network"].startswith("open")
    found = reached(skiff, laptop.FAR)
    assert found[f"tcp plain {laptop.FAR}"] == found[f"udp plain {laptop.FAR}"] == "internet", found
    said = skiff.sh("python3 -c \"import socket; print(socket.create_connection(('some.example.org', 8080), 10).recv(99).decode())\"")
    assert said == "internet\n"
    assert skiff.sh("cat /etc/resolv.conf") == "nameserver 198.18.0.3\n"


def test_neither_this_machine_nor_its_networks_are_reached(skiff, outside):
    skiff.up("box", "--network", "open")
    found = reached(skiff, *laptop.PRIVATE, laptop.OWN, laptop.NEIGHBOUR, "127.0.0.1", "::1", "198.18.0.1", "198.18.0.2", "198.18.0.3",
                    "198.18.0.9", "::ffff:10.1.2.3", "fe80::1%eth0", "0.0.0.0", "255.255.255.255", laptop.GROUP, "224.0.0.1")
    assert found == {}
    assert "b'" not in outside.seen(), outside.seen()


def test_a_box_without_a_network_reaches_nothing(skiff, outside):
    skiff.up("box")
    assert reached(skiff, laptop.FAR, laptop.OWN, "127.0.0.1") == {}


def test_all_of_it_ends_with_the_box(skiff, outside):
    skiff.up("box", "--network", "open")
    assert len(pastas(skiff)) == 1
    skiff("stop", "box")
    until(lambda: not pastas(skiff) and not skiff.processes())
    skiff("start", "box", "-q")
    assert reached(skiff, laptop.FAR)
    os.kill(int(skiff.json("ps", "box")["details"]["pid"]), signal.SIGKILL)
    until(lambda: not pastas(skiff))
    skiff("start", "box", "-q")
    os.kill(pastas(skiff)[0], signal.SIGKILL)
    until(lambda: skiff.json("ps", "box")["state"] == "failed")
    until(lambda: not skiff.processes())
    skiff("start", "box", "-q")
    skiff("rm", "-q", "box")
    until(lambda: not pastas(skiff) and not skiff.processes())


@pytest.mark.parametrize("moment", range(8))
def test_a_launcher_that_is_killed_leaves_nothing(skiff, outside, moment):
    process = skiff.start("up", "box", "-q", "--network", "open")
    time.sleep(random.Random(moment).uniform(0, 0.1))  # any moment will do: what is left may differ, and must be removed
    process.send_signal(signal.SIGKILL)
    process.communicate()
    if (skiff.sandboxes / "box/record.json").exists():
        skiff.users.add(skiff.record()["user"])
    skiff("rm", "--all", "--everyone", "-q", "-f")
    until(lambda: not pastas(skiff) and not skiff.processes())
    assert skiff.names() == []


def test_what_is_missing_is_named(skiff, tmp_path):
    usual = skiff.command
    with laptop.laptop(tmp_path, tun=False) as one:
        skiff.command = [*one.words, *usual]
        err = skiff("up", "box", "--network", "open", status=125)[1]
        assert "/dev/net/tun" in err and "sudo" in err, err
        err = skiff("up", "box", "--network", "open", env={"PATH": "/nowhere"}, status=125)[1]
        assert "apt install passt" in err and "--network deny" in err, err
        for path, remedy in ((os.environ["PATH"], "sudo modprobe tun"), ("/nowhere", "apt install passt")):
            said = network_in_doctor(skiff, env={"PATH": path})
            assert (said["passed"], said["offered"]) == (True, False) and remedy in said["remedy"], said
        assert re.search(r"^--network open +not offered +pasta cannot open", skiff("doctor")[0], re.MULTILINE)
        assert skiff.names() == [] and not pastas(skiff)
    skiff.command = usual


def test_a_network_and_a_limit_of_memory_go_together(skiff, outside):
    if skiff.uid != 0:
        pytest.skip("not run: an ordinary user may not create control groups")
    made = skiff.up("box", "--network", "open", "--memory", "256Mi")
    assert "256 MiB of memory" in made["details"]["limits"]
    assert reached(skiff, laptop.FAR)
    skiff("rm", "-q", "box")
    assert not list(pathlib.Path("/sys/fs/cgroup").glob("**/skiff/box.*"))


def test_other_networks_are_refused(skiff):
    for words in ("cidr=198.51.100.0/24", "dns"):
        err = skiff("up", "box", "--network", words, status=125)[1]
        assert "open and deny in this version" in err, err
    assert skiff.names() == []
