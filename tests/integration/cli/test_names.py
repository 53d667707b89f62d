"""`skiff` resolves names by hosts(5) and resolv.conf(5), with a real name server in a network of its own."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

from agent import binary, environment

# In the namespaces: the machine's files are those of the test, and the name server answers on port 53.
SCENE = textwrap.dedent("""
    import json, os, pathlib, subprocess, sys
    work, skiffd, skiff = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    commands, table, files = json.loads(sys.argv[4])
    sys.path.insert(0, sys.argv[5])
    import name_server
    subprocess.run("ip link set lo up", shell=True, check=True)
    for name, text in files.items():
        (work / name).write_text(text)
        subprocess.run(["mount", "--bind", str(work / name), f"/etc/{name}"], check=True)
    name_server.serve(table)
    # The network is the test's own, so the port may be fixed.
    agent = subprocess.Popen([skiffd, "--listen", "[::]:7070", "--root", str(work)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             env={**os.environ, "SKIFF_TOKEN": "t" * 32, "SKIFF_ALLOWED_HOST": "by-file,agent.example,short,six.example,many.example,long.example"})
    while subprocess.run([skiffd, "health"], env={**os.environ, "SKIFF_LISTEN": "[::]:7070"}, capture_output=True).returncode:
        assert agent.poll() is None
    for command in commands:
        ended = subprocess.run([skiff, *command], capture_output=True, text=True, env={**os.environ, "SKIFF_TOKEN": "t" * 32})
        print(json.dumps([ended.returncode, ended.stdout, ended.stderr]))
    agent.terminate()
    agent.wait()
""")
HOSTS = "127.0.0.1 localhost\n127.0.0.1 by-file\n"
RESOLV = "nameserver 127.0.0.1\nsearch one.example two.example\noptions timeout:1 attempts:1\n"
SWITCH = "hosts: files dns\n"


def run(tmp_path, *commands, table=()):
    """Returns [status, stdout, stderr] of each command of skiff."""
    # A /proc of its own: LeakSanitizer looks for the threads of a process there, by its number.
    wrapper = ["unshare", "--net", "--mount-proc", "--pid", "--fork", "--kill-child"]
    if os.geteuid() != 0:
        wrapper[1:1] = ["--user", "--map-root-user"]
    if subprocess.run([*wrapper, "true"], capture_output=True, timeout=20).returncode != 0:
        pytest.skip("no namespaces here")
    said = json.dumps([commands, dict(table), {"hosts": HOSTS, "resolv.conf": RESOLV, "nsswitch.conf": SWITCH}])
    here = os.path.dirname(__file__)
    ended = subprocess.run([*wrapper, sys.executable, "-c", SCENE, tmp_path, binary(), os.environ["SKIFF"], said, here],
                           capture_output=True, text=True, timeout=120, env=environment())
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def echo(host):
    return ["exec", "x", "--url", f"http://{host}:7070", "echo", "here"]


def test_names_come_from_hosts_and_from_name_servers(tmp_path):
    table = {"agent.example": ["127.0.0.1"], "short.two.example": ["127.0.0.1"], "six.example": ["::1"]}
    for status, out, err in run(tmp_path, echo("by-file"), echo("agent.example"), echo("agent.example."), echo("short"),
                                echo("six.example"), echo("LOCALHOST"), table=table):
        assert (status, out) == (0, "here\n"), err


def test_each_address_of_a_name_is_tried(tmp_path):
    table = {"many.example": ["127.0.0.9", "127.0.0.8", "127.0.0.1"], "long.example": [f"127.0.1.{n}" for n in range(60)] + ["127.0.0.1"]}
    for status, out, err in run(tmp_path, echo("many.example"), echo("long.example"), table=table):
        assert (status, out) == (0, "here\n"), err


def test_a_name_that_does_not_exist_is_told(tmp_path):
    (missing, _, err), (invalid, _, other) = run(tmp_path, echo("nowhere.example"), echo("a" * 300))
    assert missing == 125 and 'look up "nowhere.example"' in err and "not found" in err
    assert invalid == 125 and "not a host name" in other


def test_a_silent_name_server_is_told(tmp_path):
    ((status, _, err),) = run(tmp_path, echo("silent.example"))
    assert status == 125 and 'look up "silent.example"' in err, err
