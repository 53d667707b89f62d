"""The agent in a Pod with egress by name: it takes commands once the network is closed, and shows the proxy a token that no command
sees. The proxy is a stand-in (egress_stand_in.py)."""

import json
import os
import secrets
import subprocess

import pytest

from agent import command_line, environment
from egress_stand_in import stand_in
from egressing import UNAWARE
from waiting import until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a network namespace")

TALK = ("import socket; one = socket.create_connection(('127.0.0.1', 3128), 20); one.sendall(b'hello!'); "
        "print(one.recv(9999).decode(), end='')")


@pytest.fixture
def pod():
    with stand_in() as one:
        yield one


@pytest.fixture
def start(start_agent, pod, tmp_path):
    def begin(*arguments, **more):
        return start_agent(*pod.flags, *arguments, listen=f"unix:{tmp_path}/agent.sock", wrapper=pod.words, warm=False, **more)
    return begin


def run(agent, *argv):
    return agent.request("POST", "/v1/commands", json={"argv": list(argv)})


def is_ready(agent):
    return agent.request("GET", "/readyz").status == 200


def test_commands_wait_until_the_network_is_closed(start, pod, tmp_path):
    agent = start("--", "sh", "-c", f"touch {tmp_path}/began; exec sleep infinity")
    canary = f"127.0.0.1:{pod.ports['canary']}"
    until(lambda: canary in agent.request("GET", "/readyz").json()["detail"])
    for answer in (agent.request("GET", "/readyz"), run(agent, "true"), agent.request("POST", "/v1/run", body=b"true"),
                   agent.request("POST", "/v1/init", json={"setup": {"command": "true"}})):
        assert (answer.status, answer.json()["code"]) == (503, "egress_waiting") and answer.headers["Retry-After"] == "1"
    assert agent.request("GET", "/healthz").json() == {"status": "ok", "egress": "waiting"}
    assert not (tmp_path / "began").exists()
    pod.canary("close")
    until(lambda: is_ready(agent))
    assert agent.request("GET", "/healthz").json() == {"status": "ok", "egress": "fenced"}
    assert run(agent, "true").json()["exit_code"] == 0
    until(lambda: (tmp_path / "began").exists())
    assert agent.terminate() == 143


def test_the_proxy_sees_the_token_and_commands_do_not(start, pod, tmp_path):
    pod.canary("close")
    token = secrets.token_hex(40)
    agent = start(env={"SKIFF_EGRESS_TOKEN": token})
    until(lambda: is_ready(agent))
    assert run(agent, "python3", "-c", TALK).json()["stdout"] == "thank you"
    assert pod.next() == {"got": f"SKIFF-EGRESS/1 {token}\r\nhello!"}
    own = run(agent, "env").json()["stdout"]
    assert "http_proxy=http://127.0.0.1:3128" in own and "SKIFF_EGRESS" not in own
    environ = run(agent, "sh", "-c", "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'").json()["stdout"]
    # The name stays in the agent's memory, without a value.
    assert "SKIFF_EGRESS_TOKEN=\n" in environ and token not in environ
    for path in ("/v1/version", "/v1/capabilities", "/v1/stats", "/v1/commands", "/metrics"):
        assert token not in agent.request("GET", path).body.decode()
    # Neither a file nor what the agent says of itself has it.
    assert run(agent, "grep", "-r", "-l", "-s", "-F", token, str(tmp_path)).json()["exit_code"] == 1
    assert token not in agent.log()


def test_a_pod_of_a_pool_gets_its_token_later(start, pod):
    pod.canary("close")
    agent = start()
    until(lambda: is_ready(agent))
    assert "X-Skiff-Egress: no_proxy\r\n" in run(agent, "python3", "-c", TALK).json()["stdout"]
    for wrong in ("", "a b", "a\r\nb", "x" * 2001):
        answer = agent.request("POST", "/v1/init", json={"egress_token": wrong})
        assert (answer.status, answer.json()["code"], answer.json()["field"]) == (400, "invalid_field", "/egress_token"), wrong
    assert agent.request("POST", "/v1/init", json={"egress_token": "later", "setup": {"command": "true"}}).status == 200
    assert run(agent, "python3", "-c", TALK).json()["stdout"] == "thank you"
    assert pod.next() == {"got": "SKIFF-EGRESS/1 later\r\nhello!"}


#: A query for the address of abc.org.
QUERY = "12340100000100000000000003616263036f72670000010001"
TAKEN = "import socket, sys; one = socket.create_server(('127.0.0.1', 53)); print('ready', flush=True); sys.stdin.read()"


def test_an_agent_that_cannot_be_a_name_server_says_so_and_goes_on(start, pod):
    with subprocess.Popen([*pod.words, "python3", "-c", TAKEN], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"ready\n"
        pod.canary("close")
        agent = start(env={"SKIFF_EGRESS_TOKEN": "token"})
        until(lambda: is_ready(agent))
        assert run(agent, "python3", "-c", TALK).json()["stdout"] == "thank you"
        assert agent.log().count("programs that know no proxy reach nothing: listen on 127.0.0.1:53") == 1
        assert agent.terminate() == 143
        other.stdin.close()


def test_no_name_is_known_before_the_network_is_closed(start, pod):
    agent = start(env={"SKIFF_EGRESS_TOKEN": "token"})
    until(lambda: "egress" in agent.request("GET", "/healthz").json())
    said = subprocess.run([*pod.words, "python3", UNAWARE, json.dumps([{"dns": QUERY}, {"dns": QUERY, "tcp": True}])],
                          stdout=subprocess.PIPE, check=True, timeout=60).stdout
    # SERVFAIL: it may be known later.
    assert [one[4:8] for one in json.loads(said)] == ["8182", "8182"]
    pod.canary("close")
    until(lambda: is_ready(agent))


def test_names_do_not_hold_up_the_end_of_an_agent(start, pod):
    pod.canary("close")
    agent = start(env={"SKIFF_EGRESS_TOKEN": "token"})
    until(lambda: is_ready(agent))
    # The stand-in never answers this question.
    assert run(agent, "python3", "-c", "import socket; one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
                                       f"one.sendto(bytes.fromhex('{QUERY}'), ('127.0.0.1', 53))").json()["exit_code"] == 0
    assert agent.request("POST", "/v1/ports/53/").json()["code"] == "invalid_field"
    assert agent.terminate() == 143


def test_ports_do_not_lead_to_the_proxy(start_agent, start, pod, tmp_path):
    """Also where the proxy itself has the address: a client of the agent is not the sandbox."""
    agents = [start(env={"SKIFF_EGRESS_TOKEN": "token"})]
    agents.append(start_agent("--egress", "127.0.0.1:3128", listen=f"unix:{tmp_path}/other.sock", wrapper=pod.words, warm=False))
    for agent in agents:
        assert agent.request("POST", "/v1/ports/3128/").json()["detail"] == "port 3128 is the agent's own"


def test_wrong_settings_are_refused(start_agent):
    answer = start_agent().request("POST", "/v1/init", json={"egress_token": "x"})
    assert (answer.status, answer.json()["field"]) == (400, "/egress_token")
    proxy, canary = ("--egress", "10.0.0.1:3128"), ("--egress-canary", "10.0.0.1:3129")
    for flags, token, said in ((proxy, "", "--egress-canary"), (canary, "", "--egress"), (("--egress", "10.0.0.1:0", *canary), "", "expected IP:PORT"),
                               (("--egress", "proxy:3128", *canary), "", "proxy:3128"), ((*proxy, *canary), "a b", "SKIFF_EGRESS_TOKEN"),
                               (("--egress", "unix:/x", *canary), "", "expected IP:PORT"), (("--egress", "127.0.0.1:3128", *canary), "", "another host"),
                               (("--egress", "[::ffff:127.0.0.1]:3128"), "", "--egress"), (("--egress", "127.0.0.1:03128", *canary), "", "--egress"),
                               (("--egress", "127.0.0.1:3128"), "x", "another host"), (("--egress", "127.0.0.1:3129"), "", "--egress-canary")):
        ended = subprocess.run(command_line("--listen", "127.0.0.1:0", "--allow-unauthenticated", *flags), capture_output=True, text=True, timeout=60,
                               env=environment(SKIFF_EGRESS_TOKEN=token))
        assert ended.returncode == 2 and said in ended.stderr and "a b" not in ended.stderr, (flags, ended)


def test_commands_trust_what_the_agent_is_told(start_agent, tmp_path):
    agent = start_agent("--egress-trust", tmp_path, env={"SKIFF_EGRESS_CA": "OURS\n", "APT_CONFIG": "/of/the/image"})
    assert (tmp_path / "ca.pem").read_text() == "OURS\n" and (tmp_path / "ca-bundle.pem").read_text().endswith("OURS\n")
    seen = run(agent, "env").json()["stdout"].splitlines()
    assert f"WGETRC={tmp_path}/wgetrc" in seen and "APT_CONFIG=/of/the/image" in seen
    assert not [line for line in seen if "OURS" in line]
    for flags, variables in ((("--egress-trust", tmp_path), {}), ((), {"SKIFF_EGRESS_CA": "OURS"}),
                             (("--egress-trust", tmp_path / "none"), {"SKIFF_EGRESS_CA": "OURS"})):
        ended = subprocess.run(command_line("--listen", "127.0.0.1:0", "--allow-unauthenticated", *flags), capture_output=True, text=True, timeout=60,
                               env=environment(**variables))
        assert ended.returncode == 2 and ("--egress-trust" in ended.stderr or "none/ca-bundle.pem" in ended.stderr), ended
