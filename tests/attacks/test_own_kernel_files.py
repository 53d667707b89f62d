"""Files under /proc that tell of the agent: it may read them where its commands may not, and shows them to nobody."""

import pytest

FILES = "/v1/files"
PRIVATE = ("environ", "maps", "auxv", "limits", "cmdline")


@pytest.fixture
def agent(start_agent):
    return start_agent("--root", "/", tokens=("runner exec",))


def places(agent):
    for of in ("self", "thread-self", agent.pid, f"{agent.pid}/task/{agent.pid}"):
        for name in PRIVATE:
            yield f"proc/{of}/{name}"


def test_kernel_files_of_the_agent_can_not_be_read(agent):
    for path in places(agent):
        agent.request("GET", f"{FILES}/{path}", token="runner").problem(403, "permission_denied")


@pytest.mark.parametrize("what", ["copy", "move"])
def test_kernel_files_of_the_agent_can_not_be_copied(agent, what):
    to = str(agent.root / "taken")
    for path in places(agent):
        answer = agent.request("POST", f"{FILES}:{what}", json={"from": path, "to": to}, token="runner")
        assert answer.status >= 400, (path, answer)
        assert not list(agent.root.iterdir()), path


def test_a_copy_of_a_directory_contains_no_kernel_files_of_the_agent(agent):
    answer = agent.request("POST", f"{FILES}:copy", json={"from": "proc/self/task", "to": str(agent.root / "taken")}, token="runner")
    assert answer.status >= 400, answer
    assert not list(agent.root.iterdir())


def test_kernel_files_of_the_agent_can_not_be_changed(agent):
    before = [open(f"/proc/{agent.pid}/{name}").read() for name in ("comm", "oom_score_adj", "timerslack_ns")]
    for name in ("comm", "oom_score_adj", "timerslack_ns"):
        for path in (f"proc/self/{name}", f"proc/{agent.pid}/{name}"):
            for method, query in (("PUT", ""), ("PATCH", "?append=true")):
                answer = agent.request(method, f"{FILES}/{path}{query}", body=b"1", token="runner")
                assert answer.status >= 400, (method, path)
            for operation in ({"op": "write", "content": "1"}, {"op": "edit", "edits": [{"old": "0", "new": "1"}]}):
                answer = agent.request("POST", f"{FILES}:batch", json={"operations": [{"path": path, **operation}]}, token="runner")
                assert answer.status >= 400, (operation, path)
    assert [open(f"/proc/{agent.pid}/{name}").read() for name in ("comm", "oom_score_adj", "timerslack_ns")] == before
