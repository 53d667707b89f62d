"""Machines with one family of addresses, IPv4 or IPv6, and with both: as in Pods of a cluster that has them."""

import os
import subprocess
import sys

import pytest

from agent import binary, environment
from waiting import until

# The network of a namespace of its own. Without the other's address on the loopback nobody can connect by it.
BOTH = "ip link set lo up"
ONLY_IP4 = BOTH + " && sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.lo.disable_ipv6=1"
ONLY_IP6 = BOTH + " && ip address del 127.0.0.1/8 dev lo"
MACHINES = {"both": BOTH, "ip4": ONLY_IP4, "ip6": ONLY_IP6}

# Says of each address and port whether somebody answers there.
ASK = """
import http.client, sys
for host in ("127.0.0.1", "::1"):
    for port in sys.argv[1:]:
        try:
            connection = http.client.HTTPConnection(host, int(port), timeout=10)
            connection.request("GET", "/healthz")
            try:
                connection.getresponse().read()
            except http.client.HTTPException:
                pass  # gRPC
            print(host, port, "answers")
        except OSError:
            print(host, port, "refuses")
"""


def in_namespace(machine, script, *arguments, timeout=60, **env):
    """Runs it as a process that sees a network, processes and mounts of its own."""
    wrapper = ["unshare", "--net", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if os.geteuid() != 0:
        wrapper[1:1] = ["--user", "--map-root-user"]
    if subprocess.run([*wrapper, "sh", "-c", MACHINES[machine]], capture_output=True, timeout=20).returncode != 0:
        pytest.skip("no network namespace like that can be made here")
    return subprocess.run([*wrapper, "sh", "-c", f"{MACHINES[machine]} && {script}", "sh", *map(str, arguments)],
                          capture_output=True, text=True, timeout=timeout, env=environment(**env))


def as_init(machine, tmp_path, *arguments, ports=(7070,), **env):
    """The output of a workload that asks the agent, which is PID 1: both end with the workload."""
    (tmp_path / "ask.py").write_text(ASK)
    done = in_namespace(machine, 'exec "$@"', binary(), "--root", tmp_path, *arguments, "--", sys.executable,
                        tmp_path / "ask.py", *ports, SKIFF_TOKEN="a" * 32, HOME=tmp_path, **env)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def answers(machine, port=7070):
    return [f"127.0.0.1 {port} {'refuses' if machine == 'ip6' else 'answers'}",
            f"::1 {port} {'refuses' if machine == 'ip4' else 'answers'}"]


@pytest.mark.parametrize("machine", MACHINES)
def test_as_pid_1_the_agent_listens_to_each_family_that_there_is(machine, tmp_path):
    assert as_init(machine, tmp_path) == ["skiffd listening on http://[::]:7070", *answers(machine)]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("dialect, port", [("kubebox", 80), ("python-runtime", 8888), ("sandboxd", 8080), ("sandboxd", 9090)])
def test_ports_of_dialects_listen_to_both_families(machine, dialect, port, tmp_path):
    lines = as_init(machine, tmp_path, "--dialect", dialect, ports=(port,))
    assert f"[::]:{port}" in " ".join(lines)
    assert lines[-2:] == answers(machine, port)


@pytest.mark.parametrize("listen, families", [
    ("0.0.0.0:7070", "ip4"), ("[::1]:7070", "ip6"), ("[::]:7070", "both"),
    ("0.0.0.0:7070,[::]:7070", "both"), ("[::]:7070,0.0.0.0:7070", "both"),
])
def test_the_agent_listens_on_the_addresses_of_the_setting_alone(listen, families, tmp_path):
    assert as_init("both", tmp_path, SKIFF_LISTEN=listen)[-2:] == answers(families)


@pytest.mark.parametrize("machine", MACHINES)
def test_the_health_check_finds_the_agent(machine, tmp_path):
    done = in_namespace(machine, '"$@" & agent=$!; until "$1" health 2>/dev/null; do kill -0 $agent || exit 1; done; kill $agent',
                        binary(), "--listen", "[::]:7070", "--root", tmp_path, SKIFF_TOKEN="a" * 32, HOME=tmp_path,
                        SKIFF_LISTEN="[::]:7070")
    assert "ok" in done.stdout.splitlines(), (done.stdout, done.stderr)


def test_by_ip4_a_client_of_both_families_is_told_as_one_of_ip4(start_agent, tmp_path):
    audit = tmp_path / "audit"
    agent = start_agent("--audit-log", audit, "--allowed-host", "*", listen="[::]:0")
    agent.ip = "127.0.0.1"
    assert agent.run("echo hi")["stdout"] == "hi\n"
    until(lambda: '"127.0.0.1:' in audit.read_text(), what="the client's address")
    assert "::ffff" not in audit.read_text()


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_a_sandbox_is_named_by_an_address_of_either_family(start_agent, skiff, host):
    agent = start_agent("--allowed-host", "*", listen="[::]:0")
    at = ("--driver", "direct", "--url", f"http://{host}:{agent.port}")
    done = skiff("exec", *at, "box", "--", "echo", "hi", env={"SKIFF_TOKEN": agent.token})
    assert done[0] == "hi\n", done
