"""The image is what a careful cluster wants: one file, no root, and it works with everything taken away."""

import json
import os
import pathlib
import subprocess
import time

from conftest import TOKEN, TREE, Agent


def status_of(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines)


def children_of(pid):
    """Name and state of each child, as the kernel tells them."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            status = status_of(child)
            found.append((status["Name"], status["State"]))
    return found


def until(condition, seconds=20):
    """PID 1 reports no orphan that it reaps: this polls, for at most `seconds`."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come true in time"
        os.sched_yield()


def test_the_image_holds_the_binary_and_its_licences_and_nothing_else(image):
    configuration, rootfs = image
    assert {str(path.relative_to(rootfs)) for path in rootfs.rglob("*")} == {"skiffd", "licenses", "licenses/LICENSE", "licenses/NOTICE"}
    for name in ("LICENSE", "NOTICE"):
        assert (rootfs / "licenses" / name).read_bytes() == (TREE / name).read_bytes()
    assert (rootfs / "skiffd").stat().st_mode & 0o777 == 0o755
    assert configuration["User"] == "1000:1000"
    assert configuration["Entrypoint"] == ["/skiffd"]
    assert list(configuration["ExposedPorts"]) == ["7070/tcp"]


def test_it_serves_as_pid_1_with_everything_taken_away(agent):
    status = status_of(agent.container.pid)
    assert status["NSpid"].split()[-1] == "1"
    assert status["Uid"].split() == ["1000"] * 4
    assert [int(status[kind], 16) for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")] == [0] * 5
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    assert agent.container.request("GET", "/healthz")[0] == 200
    assert agent.container.request("GET", "/readyz")[0] == 200
    assert agent.container.request("GET", "/v1/version")[0] == 401
    assert agent.request("GET", "/v1/version")[0] == 200


def test_it_runs_commands_in_an_image_without_a_shell(start):
    container = start(SKIFF_TOKEN=TOKEN)
    assert container.line().startswith("skiffd listening on "), container.stderr()
    agent = Agent(container)
    result = agent.run(argv=["/skiffd", "version"])
    assert (result["cause"], result["exit_code"]) == ("exited", 0)
    assert "skiffd" in result["stdout"]
    result = agent.run("true")
    assert (result["cause"], result["exit_code"]) == ("spawn_failed", 127)
    assert result["error"]["errno"] == "ENOENT"


def test_wait_stream_and_background_work_under_the_default_filter(agent):
    result = agent.run("echo out; echo err >&2; id -u; exit 3")
    assert (result["stdout"], result["stderr"], result["exit_code"]) == ("out\n1000\n", "err\n", 3)
    status, _, body = agent.request("POST", "/v1/commands", {"command": "seq 100000", "mode": "stream"})
    events = [json.loads(line) for line in body.splitlines()]
    assert status == 200
    assert "".join(event["data"] for event in events if event["type"] == "output") == "".join(f"{n}\n" for n in range(1, 100001))
    status, headers, _ = agent.request("POST", "/v1/commands", {"command": "cat; echo done", "mode": "background"})
    assert status == 202
    status, _, body = agent.request("GET", headers["Location"] + "?wait_ms=20000")
    assert (status, json.loads(body)["exit_code"]) == (200, 0)


def test_a_terminal_works(agent):
    result = agent.run("tty && stty size", tty={"cols": 91, "rows": 37})
    assert result["exit_code"] == 0, result
    assert result["stdout"].split() == ["/dev/pts/0", "37", "91"]


def test_the_filter_and_the_read_only_root_bind_the_commands(agent):
    assert agent.run("unshare -U true")["exit_code"] != 0
    assert "Read-only file system" in agent.run("touch /file")["stderr"]
    result = agent.run("touch /tmp/file && ls /tmp")
    assert result["stdout"] == "file\n", result


def test_a_whole_tree_ends_with_its_command(agent):
    tree = "setsid sh -c 'setsid sleep 1000 & sleep 1000' & sleep 1000"
    result = agent.run(tree, timeout_ms=200, kill_grace_ms=100)
    assert result["cause"] == "timeout"
    until(lambda: not children_of(agent.container.pid))


def test_orphans_are_reaped_and_exit_statuses_are_right(agent):
    for status in range(20):
        assert agent.run(f"(setsid true &) ; (true &) ; exit {status}")["exit_code"] == status
    until(lambda: not children_of(agent.container.pid))


def test_a_signal_from_inside_does_not_end_the_agent(agent):
    assert agent.run("kill -KILL 1; kill -STOP 1; kill -TERM 1; kill -INT 1")["cause"] == "exited"
    assert agent.container.request("GET", "/readyz")[0] == 200
    assert agent.run("echo still here")["stdout"] == "still here\n"


def test_a_stop_from_outside_drains_and_says_so(agent):
    status, *_ = agent.request("POST", "/v1/commands", {"command": "sleep 1000", "mode": "background"})
    assert status == 202
    agent.container.terminate()
    assert agent.container.wait() == 143


def test_without_a_credential_it_refuses_and_says_what_to_set(start):
    container = start()
    assert container.wait() == 2
    assert "SKIFF_TOKEN" in container.stderr()


def test_it_installs_itself_into_a_shared_volume(start, tmp_path):
    volume = tmp_path / "volume"
    volume.mkdir()
    os.chown(volume, 1000, 1000)
    container = start("install", "/volume", mounts=[
        {"destination": "/volume", "type": "bind", "source": str(volume), "options": ["rbind", "rw"]}])
    assert container.wait() == 0, container.stderr()
    done = subprocess.run([volume / "skiffd", "version"], capture_output=True, text=True)
    assert done.returncode == 0 and "skiffd" in done.stdout


def test_nothing_is_left_on_the_machine(start, busybox):
    container = start(mounts=[busybox], SKIFF_TOKEN=TOKEN)
    assert container.line()
    pid = container.pid
    assert groups_of(container)
    container.remove()
    assert not pathlib.Path(f"/proc/{pid}").exists()
    assert container.name not in pathlib.Path("/proc/self/mountinfo").read_text()
    assert not groups_of(container)


def groups_of(container):
    """The cgroups of the container, of version 1 or 2."""
    top = pathlib.Path("/sys/fs/cgroup")
    return [*top.glob(container.name), *top.glob(f"*/{container.name}")]
