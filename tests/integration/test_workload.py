"""`skiffd -- program`: a workload beside the agent, whose life the agent's is."""

import signal

import pytest

import proc
from waiting import until


def output_of(agent):
    """The agent's stdout after its own line."""
    return agent.process.stdout.read().decode()


@pytest.mark.parametrize("script, status", [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -TERM $$", 143)])
def test_the_agent_exits_with_the_workloads_status(start_agent, script, status):
    agent = start_agent("--", "/bin/sh", "-c", script, warm=False)
    assert agent.process.wait(20) == status


def test_the_workload_has_the_agents_streams_and_environment(start_agent):
    agent = start_agent("--", "/bin/sh", "-c", 'echo "$ITEST_MARK ${SKIFF_PROBE-none} $(readlink /proc/self/fd/0)"',
                        warm=False, env={"SKIFF_PROBE": "hidden"})
    assert agent.process.wait(20) == 0
    assert output_of(agent) == f"{agent.mark} none /dev/null\n"


def test_sigterm_goes_to_the_workload_and_its_answer_is_the_status(start_agent):
    agent = start_agent("--", "/bin/sh", "-c",
                        "trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.05; done", warm=False)
    assert agent.process.stdout.readline() == b"up\n"
    assert agent.run("echo beside")["stdout"] == "beside\n"
    assert agent.terminate() == 5
    assert output_of(agent) == "bye\n"


def test_a_workload_that_does_not_end_is_killed_after_the_drain_timeout(start_agent):
    agent = start_agent("--drain-timeout", "200ms", "--", "/bin/sh", "-c",
                        "trap '' TERM; echo up; while :; do sleep 0.05; done", warm=False)
    assert agent.process.stdout.readline() == b"up\n"
    assert agent.terminate() == 137
    until(lambda: not agent.strays())


def test_processes_that_the_workload_leaves_behind_are_killed(start_agent):
    agent = start_agent("--kill-grace", "100ms", "--", "/bin/sh", "-c",
                        "setsid sleep 300 & setsid sh -c 'trap \"\" TERM; sleep 301' & exit 4", warm=False)
    assert agent.process.wait(20) == 4
    assert not agent.strays()


def test_commands_end_with_cause_shutdown_when_the_workload_ends(start_agent):
    agent = start_agent("--", "/bin/sh", "-c", "until [ -e root/go ]; do sleep 0.05; done; exit 6", warm=False)
    with agent.stream("POST", "/v1/commands", json={"command": "echo up; sleep 300", "mode": "stream"}) as stream:
        events = stream.events()
        next(events), next(events)
        (agent.root / "go").touch()
        assert list(events)[-1]["cause"] == "shutdown"
    assert agent.process.wait(20) == 6


@pytest.mark.parametrize("program, status", [("/nonexistent/program", 127), ("/etc/passwd", 126)])
def test_a_workload_that_can_not_run_is_reported(start_agent, program, status):
    agent = start_agent("--", program, warm=False)
    assert agent.process.wait(20) == status
    assert program in agent.log()


def test_the_end_of_a_lease_does_not_count_as_a_failure_of_the_workload(start_agent):
    agent = start_agent("--ttl", "200ms", "--", "sleep", "300", warm=False)
    assert agent.process.wait(20) == 0


def test_the_workload_is_not_listed_as_a_command(start_agent):
    agent = start_agent("--", "sleep", "300", warm=False)
    assert agent.request("GET", "/v1/commands").json()["items"] == []
    assert agent.request("GET", "/v1/activity").json()["in_use"] is False
    workload = until(lambda: [pid for pid in agent.strays() if proc.name(pid) == "sleep"])[0]
    assert not proc.status(workload, "SigIgn").strip("0") and not proc.status(workload, "SigBlk").strip("0")
    assert agent.terminate() == 128 + signal.SIGTERM
