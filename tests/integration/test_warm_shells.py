"""A command that a waiting shell runs (docs/adr/0013) is told from no other: not by its result, not by what it sees."""

import re

import pytest

import proc
from waiting import until

SHELLS = ("/bin/dash", "/bin/bash")

# Each is run by a shell that was started for it and by one that waited.
LINES = [
    "true", "exit 3", "(exit 4)", "false; true", "no-such-program", "/etc/passwd", "exec no-such-program", "if", "echo 'open", "echo $((1/0))",
    "set -e; false; echo not reached", "set -u; echo $unset", "kill -9 $$", "kill -TERM $$", "sh -c 'kill -SEGV $$'", "true && sh -c 'kill -9 $$'",
    "trap 'echo bye' EXIT; exit 5", "trap '' TERM; kill $$; echo survived", "return 7", "cat", "cat <&3", "echo $0 $# $*", "echo $PWD $OLDPWD; pwd",
    "tr '\\0' '|' </proc/$$/cmdline; tr '\\0' '\\n' </proc/$$/environ | sort", "cat /proc/$$/comm; ls /proc/$$/fd", "env | sort", "exec env | sort",
    "ulimit -a", "umask", "exec grep -E 'Sig[PBIC]|Groups|NoNewPrivs|Seccomp:' /proc/self/status", "ps -o ni= -p $$", "readlink /proc/$$/exe /proc/$$/cwd",
    "[ $(ps -o pgid= -p $$) = $(ps -o sid= -p $$) ] && echo leads", "echo out; echo err >&2; printf 'no newline'", "#", " ", "echo *; cd /; echo $PWD",
    "head -c 100000 /dev/zero | tr '\\0' x",
]


def warm_starts(agent):
    text = agent.request("GET", "/metrics").body.decode()
    return int(re.search(r"^skiff_commands_warm_total (\d+)$", text, re.MULTILINE).group(1))


def by_a_waiting_shell(agent, sid, **fields):
    """The result of a command that a waiting shell has run: asks again until one did."""
    for _ in range(200):
        before = warm_starts(agent)
        until(lambda: len(agent.waiting_shells()) > 0, what="a shell that waits")
        result = agent.run(session=sid, **fields)
        if warm_starts(agent) == before + 1:
            return result
    raise AssertionError(f"no waiting shell has run {fields}")


def told(result):
    """What a client learns, without what is another each time."""
    kept = {name: value for name, value in result.items() if name not in ("id", "started_at", "ended_at", "duration_ms", "usage", "next")}
    return {name: re.sub(r"\b\d{3,}\b", "N", value) if isinstance(value, str) else value for name, value in kept.items()}


@pytest.fixture
def cold(start_agent):
    return start_agent("--warm-shells", "0")


@pytest.mark.parametrize("path", SHELLS)
@pytest.mark.parametrize("stateful", [False, True], ids=["plain", "stateful"])
def test_results_are_those_of_a_shell_that_was_started_for_the_command(agent, cold, path, stateful):
    folder = agent.root / "work"
    folder.mkdir()
    fields = {"root": "work", "shell": {"path": path, "stateful": stateful}, "env": {"WHO": "me"}, "env_inherit": False}
    warm_session = agent.session(**fields)
    (cold.root / "work").mkdir()
    cold_session = cold.session(**fields)
    agent.run("true", session=warm_session)
    cold.run("true", session=cold_session)
    for line in LINES:
        got = told(by_a_waiting_shell(agent, warm_session, command=line, env={"ONCE": "1"}))
        expected = told(cold.run(line, session=cold_session, env={"ONCE": "1"}))
        expected = {name: value.replace(str(cold.root), str(agent.root)) if isinstance(value, str) else value
                    for name, value in expected.items()}
        assert got == expected, line


def test_input_folder_and_limits_reach_a_waiting_shell(agent):
    (agent.root / "below").mkdir()
    agent.run("true")
    assert by_a_waiting_shell(agent, "default", command="cat", stdin="fed")["stdout"] == "fed"
    assert by_a_waiting_shell(agent, "default", command="pwd", cwd="below")["stdout"] == f"{agent.root}/below\n"
    assert by_a_waiting_shell(agent, "default", command="ulimit -n", limits={"open_files": 33})["stdout"] == "33\n"
    merged = by_a_waiting_shell(agent, "default", command="echo a; echo b >&2; echo c", output={"merge_stderr": True})
    assert merged["stdout"] == "a\nb\nc\n"
    (agent.root / "below").rmdir()
    gone = agent.run("pwd", cwd="below")
    assert (gone["cause"], gone["exit_code"], gone["error"]["stage"]) == ("spawn_failed", 127, "chdir")


def test_a_command_that_is_ended_at_once_is_gone(agent):
    agent.run("true")
    for number in range(30):
        until(lambda: len(agent.waiting_shells()) > 0, what="a shell that waits")
        started = agent.start("sleep 1000", id=f"nap-{number}")
        assert agent.request("DELETE", f"/v1/commands/{started['id']}").status == 204
        assert not proc.alive(started["pid"])


def test_signals_reach_what_a_waiting_shell_runs(agent):
    agent.run("true")
    for target, command in (("group", "sleep 1000"), ("tree", "sleep 1000; true"), ("leader", "exec sleep 1000")):
        until(lambda: len(agent.waiting_shells()) > 0, what="a shell that waits")
        before = warm_starts(agent)
        started = agent.start(command)
        assert warm_starts(agent) == before + 1
        answer = agent.request("POST", f"/v1/commands/{started['id']}/signal", json={"signal": "HUP", "target": target})
        assert answer.status == 204, answer
        assert agent.ended(started["id"])["signal"] == "SIGHUP"


def test_without_any_every_command_starts_cold(cold):
    for _ in range(20):
        cold.run("true")
    assert cold.waiting_shells() == []
    assert warm_starts(cold) == 0


def test_they_go_with_the_agent(start_agent):
    agent = start_agent()
    agent.run("true")
    waiting = until(agent.waiting_shells, what="a shell that waits")
    assert agent.terminate() == 143
    until(lambda: not any(proc.alive(pid) for pid in waiting), what="the end of the shells that waited")


def test_they_go_with_an_agent_that_is_killed(start_agent):
    agent = start_agent()
    agent.run("true")
    waiting = until(agent.waiting_shells, what="a shell that waits")
    agent.process.kill()
    agent.process.wait()
    until(lambda: not any(proc.alive(pid) for pid in waiting), what="the end of the shells that waited")


def test_those_of_an_isolated_session_go_with_it(agent):
    if "protect" not in agent.request("GET", "/v1/capabilities").json()["isolation"]:
        pytest.skip("this kernel has no Landlock scopes")
    sid = agent.session(isolation="protect")
    agent.run("true", session=sid)
    until(lambda: len(agent.waiting_shells()) == 2, what="shells that wait")
    result = by_a_waiting_shell(agent, sid, command="kill -0 $PPID; grep NoNewPrivs /proc/$$/status")
    assert result["stdout"] == "NoNewPrivs:\t1\n"
    assert result["stderr"] != ""
    agent.request("DELETE", f"/v1/sessions/{sid}")
    until(lambda: not agent.waiting_shells(), what="the end of the session's shells")


def test_a_shell_that_is_a_script_runs_each_line(agent, tmp_path):
    """Its interpreter has a word more than a waiting shell could take over."""
    path = tmp_path / "wrapper"
    path.write_text('#!/bin/sh\nexec /bin/sh "$@"\n')
    path.chmod(0o755)
    for login in (False, True):
        sid = agent.session(shell={"path": str(path), "login": login})
        for _ in range(4):
            assert agent.run("echo on", session=sid)["stdout"] == "on\n"
            agent.run(argv=["sleep", "0.2"])  # time for shells to be made that wait
