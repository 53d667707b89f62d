"""A real cgroup with too little memory: what the kernel kills says so, and the agent goes on."""

import os
import pathlib
import secrets

import pytest

MIB = 1024 * 1024
MEMORY = pathlib.Path("/sys/fs/cgroup/memory")


@pytest.fixture
def small_group():
    """A cgroup of 96 MiB, of version 1: what can be made on machines that mount that."""
    if os.environ.get("SKIFFD_SANITIZER"):
        pytest.skip("a sanitizer's own memory is larger")
    group = MEMORY / ("itest-" + secrets.token_hex(6))
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(96 * MIB))
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error}")
    yield group
    group.rmdir()


def test_a_command_that_the_kernel_killed_for_memory_says_oom(start_agent, small_group):
    agent = start_agent("--memory-guard-percent", "0",
                        preexec_fn=lambda: (small_group / "cgroup.procs").write_text(str(os.getpid())))
    greedy = {"argv": ["/usr/bin/python3", "-c", "held = [bytearray(1 << 20) for _ in range(400)]"]}
    result = agent.request("POST", "/v1/commands", json=greedy, timeout=60).json()
    assert (result["cause"], result["signal"], result["exit_code"]) == ("oom", "SIGKILL", None)
    # The next one that is killed by somebody else is not told the same.
    result = agent.request("POST", "/v1/commands", json={"argv": ["/bin/sh", "-c", "kill -9 $$"]}).json()
    assert (result["cause"], result["signal"]) == ("signaled", "SIGKILL")
    assert agent.terminate() == 0


def test_the_memory_guard_ends_a_greedy_command_before_the_kernel_does(start_agent, small_group):
    agent = start_agent("--memory-guard-percent", "80",
                        preexec_fn=lambda: (small_group / "cgroup.procs").write_text(str(os.getpid())))
    slowly = "import time\nheld = []\nfor _ in range(400): held.append(bytearray(1 << 20)); time.sleep(0.02)"
    result = agent.request("POST", "/v1/commands", json={"argv": ["/usr/bin/python3", "-c", slowly]}, timeout=60).json()
    assert result["cause"] == "oom_guard" and result["signal"] in ("SIGTERM", "SIGKILL")
    assert agent.terminate() == 0
