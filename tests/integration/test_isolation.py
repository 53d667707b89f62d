"""A session's isolation level restricts its commands."""

import os
import pathlib
import shutil
import tempfile

import pytest


@pytest.fixture
def levels(agent):
    return agent.request("GET", "/v1/capabilities").json()["isolation"]


@pytest.fixture
def outside():
    """A directory that is neither below the root nor below /tmp, where pytest's own are."""
    path = pathlib.Path(tempfile.mkdtemp(prefix=".itest-", dir=pathlib.Path.home()))
    (path / "file").write_text("there\n")
    yield path
    shutil.rmtree(path)


def session(agent, level, **more):
    answer = agent.request("POST", "/v1/sessions", json={"isolation": level, **more})
    assert answer.status == 201, answer
    assert answer.json()["isolation"] == level
    return answer.json()["id"]


def run(agent, sid, command):
    answer = agent.request("POST", f"/v1/sessions/{sid}/commands", json={"command": command})
    assert answer.status == 200, answer
    return answer.json()


def test_a_level_that_the_kernel_can_not_enforce_is_refused_and_nothing_is_made(agent, levels):
    assert levels[0] == "none"
    for level in {"protect", "landlock"} - set(levels):
        agent.request("PUT", "/v1/sessions/x", json={"isolation": level}).problem(422, "isolation_unavailable")
        agent.request("GET", "/v1/sessions/x").problem(404, "session_not_found")
    if "SKIFFD_WRAPPER" in os.environ:
        assert levels == ["none"]  # Landlock's calls are among those that are taken away


def test_without_isolation_a_command_can_signal_its_agent(agent):
    assert run(agent, session(agent, "none"), "kill -0 $PPID && echo reached")["stdout"] == "reached\n"


def test_protect_keeps_signals_from_the_agent_and_leaves_a_commands_own_processes_alone(agent, levels):
    if "protect" not in levels:
        pytest.skip("this kernel has no Landlock scopes")
    sid = session(agent, "protect")
    result = run(agent, sid, "kill -0 $PPID 2>&1; sleep 60 & kill $! && wait $!; echo $?; grep NoNewPrivs /proc/self/status")
    assert "not permitted" in result["stdout"].lower()
    assert result["stdout"].endswith("143\nNoNewPrivs:\t1\n")
    assert run(agent, sid, f"echo x > {agent.folder}/written && cat {agent.folder}/written")["stdout"] == "x\n"


def test_a_protected_command_is_killed_whole_as_any_other(agent, levels):
    if "protect" not in levels:
        pytest.skip("this kernel has no Landlock scopes")
    sid = session(agent, "protect")
    started = agent.request("POST", f"/v1/sessions/{sid}/commands",
                            json={"command": "setsid sleep 1000 & sleep 1000", "timeout_ms": 200}).json()
    assert (started["cause"], started["signal"]) == ("timeout", "SIGTERM")
    assert not [line for line in agent.strays().values() if "sleep 1000" in line]


def test_landlock_lets_a_command_write_below_its_roots_and_tmp_alone(agent, levels, outside):
    if "landlock" not in levels:
        pytest.skip("this kernel has no Landlock")
    plain, kept = session(agent, "none"), session(agent, "landlock")
    assert run(agent, plain, f"cat {outside}/file")["stdout"] == "there\n"
    assert "denied" in run(agent, kept, f"cat {outside}/file")["stderr"]
    assert "denied" in run(agent, kept, f"echo x > {outside}/new")["stderr"] and not (outside / "new").exists()
    assert "denied" in run(agent, kept, "echo x > /etc/itest-new")["stderr"]
    result = run(agent, kept, "echo in > here && cat here && cd \"$(mktemp -d)\" && echo tmp > t && cat t && rm t && "
                              "rmdir \"$PWD\" && ls /etc >/dev/null && echo to > /dev/null && echo ok")
    assert (result["stdout"], result["stderr"]) == ("in\ntmp\nok\n", "")


def test_extra_roots_are_let_in_as_far_as_they_say(agent, levels, outside):
    if "landlock" not in levels:
        pytest.skip("this kernel has no Landlock")
    read = session(agent, "landlock", extra_roots=[{"path": str(outside), "access": "ro"}])
    write = session(agent, "landlock", extra_roots=[{"path": str(outside), "access": "rw"}])
    assert run(agent, read, f"cat {outside}/file")["stdout"] == "there\n"
    assert "denied" in run(agent, read, f"echo x > {outside}/new")["stderr"]
    assert run(agent, write, f"echo x > {outside}/new && cat {outside}/new")["stdout"] == "x\n"


def test_an_extra_root_that_is_not_there_is_refused(agent):
    answer = agent.request("POST", "/v1/sessions", json={"extra_roots": [{"path": "/nonexistent/folder"}]})
    assert answer.problem(404, "path_not_found")["field"] == "/extra_roots"
    agent.request("POST", "/v1/sessions", json={"extra_roots": [{"path": "relative"}]}).problem(400, "invalid_field")


def test_a_terminal_works_under_landlock(agent, levels):
    if "landlock" not in levels:
        pytest.skip("this kernel has no Landlock")
    sid = session(agent, "landlock")
    answer = agent.request("POST", f"/v1/sessions/{sid}/commands",
                           json={"command": "tty; stty size; echo typed > /dev/tty", "tty": {"cols": 91, "rows": 17}})
    assert "/dev/pts/" in answer.json()["stdout"] and "17 91" in answer.json()["stdout"]
    assert "typed" in answer.json()["stdout"]


def test_limits_of_a_cgroup_are_written_to_a_leaf_and_reported(start_agent, tmp_path):
    # A plain directory in place of a delegated cgroup: the machines that this runs on have no controller on version 2.
    home = tmp_path / "cgroup"
    home.mkdir()
    (home / "cgroup.controllers").write_text("memory pids cpu\n")
    agent = start_agent("--cgroup", home)
    assert {"memory_bytes", "pids", "cpu_millis"} <= set(
        agent.request("GET", "/v1/capabilities").json()["command_limits"])
    result = agent.run("cat skiff-*/cgroup.procs", cwd=str(home), id="c1",
                       limits={"memory_bytes": 1 << 28, "pids": 50, "open_files": 99})
    assert result["stdout"] == "0"  # what the child wrote to enter it
    assert result["limits"] == {"memory_bytes": {"value": 1 << 28, "by": "cgroup"},
                                "pids": {"value": 50, "by": "cgroup"}, "open_files": {"value": 99, "by": "rlimit"}}
    [leaf] = home.glob("skiff-*")
    assert (leaf / "memory.max").read_text() == str(1 << 28)
    assert (leaf / "cgroup.kill").exists() is False
    # Ids are chosen by clients: the same one in another session has a leaf of its own.
    sid = agent.session()
    assert agent.run("true", session=sid, id="c1", limits={"pids": 50})["exit_code"] == 0
    assert len(list(home.glob("skiff-*"))) == 2


@pytest.fixture
def real_cgroup():
    mount = next((line.split()[4] for line in open("/proc/self/mountinfo") if " - cgroup2 " in line), "/nonexistent")
    group = pathlib.Path(mount) / ("itest-" + os.urandom(6).hex())
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error}")
    yield group
    group.rmdir()


def test_a_real_cgroup_bounds_and_ends_a_command_or_says_what_it_lacks(real_cgroup, start_agent):
    agent = start_agent("--cgroup", real_cgroup)
    has_pids = "pids" in (real_cgroup / "cgroup.controllers").read_text().split()
    assert ("pids" in agent.request("GET", "/v1/capabilities").json()["command_limits"]) == has_pids
    limited = {"command": "setsid sleep 1000 & sleep 1000", "limits": {"pids": 9}, "timeout_ms": 200}
    answer = agent.request("POST", "/v1/commands", json=limited)
    if has_pids:
        assert answer.json()["kill_level"] == "cgroup" and answer.json()["cause"] == "timeout"
    else:
        answer.problem(422, "limit_unavailable")
    assert not [entry for entry in real_cgroup.iterdir() if entry.is_dir()]
    assert agent.terminate() == 143
