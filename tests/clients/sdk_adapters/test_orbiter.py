"""The adapter for orbiter, which needs the standard library alone: a sandbox with a life of its own, whose tools are called by name."""

import asyncio
import json
import os
import pathlib
import sys

import pytest

import documented
from launcher import Skiff

ADAPTERS = pathlib.Path(__file__).resolve().parents[3] / "sdk/python/skiff_sandbox/integrations"
sys.path.append(str(ADAPTERS))

import orbiter  # noqa: E402
from orbiter import KubernetesSandbox, SandboxError, SandboxStatus  # noqa: E402

TOOL = '#!/bin/sh\narguments=$(cat)\n[ "$arguments" = "$SKIFF_TOOL_ARGS" ] || exit 9\nprintf \'{"got": %s}\' "$arguments"\n'
IMPORTED = vars(orbiter)


@pytest.fixture
def skiff(tmp_path, monkeypatch):
    client = Skiff(tmp_path)
    for name, value in client.environment(SKIFF=client.program, SKIFF_DRIVER="local").items():
        monkeypatch.setenv(name, value)
    for name in ("ORBITER_K8S_NAMESPACE", "ORBITER_K8S_IMAGE"):
        monkeypatch.delenv(name, raising=False)
    yield client
    client.finish()


def add_tool(skiff, name, text, sandbox="box"):
    file = skiff.root(sandbox) / "tools" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)


def refusal(awaitable):
    with pytest.raises(SandboxError) as caught:
        asyncio.run(awaitable)
    return str(caught.value)


def test_a_tool_is_really_called(skiff):
    async def life():
        async with KubernetesSandbox(sandbox_id="box") as sandbox:
            add_tool(skiff, "count", TOOL)
            add_tool(skiff, "fails", "#!/bin/sh\necho no >&2\nexit 3\n")
            return await sandbox.run_tool("count", {"path": "a b ü"}), await sandbox.run_tool("fails", {})

    answer, failed = asyncio.run(life())
    assert answer == {"tool": "count", "arguments": {"path": "a b ü"}, "result": {"got": {"path": "a b ü"}}, "status": "ok",
                      "sandbox_id": "box", "pod": "orbiter-box", "cluster_ip": "127.0.0.1"}
    assert (failed["status"], failed["exit_code"], failed["stderr"]) == ("error", 3, "no\n")
    assert skiff.names() == []


def test_any_number_of_tools_run_at_once(skiff):
    async def life():
        async with KubernetesSandbox(sandbox_id="box") as sandbox:
            # None of them ends before all have begun.
            add_tool(skiff, "meet", '#!/bin/sh\ntouch "met-$(cat | tr -dc 0-9)"\nwhile [ "$(ls met-* | wc -l)" != 4 ]; do sleep 0.02; done\necho 1\n')
            return await asyncio.gather(*(sandbox.run_tool("meet", {"n": n}) for n in range(4)))

    assert [one["status"] for one in asyncio.run(life())] == ["ok"] * 4


def test_a_tool_that_takes_too_long_is_ended(skiff):
    async def life():
        async with KubernetesSandbox(sandbox_id="box", timeout=0.2) as sandbox:
            add_tool(skiff, "slow", "#!/bin/sh\nsleep 1000\n")
            return await sandbox.run_tool("slow", {})

    assert asyncio.run(life())["status"] != "ok"


def test_a_stopped_one_keeps_its_files_and_starts_again(skiff):
    async def life():
        sandbox = KubernetesSandbox(sandbox_id="box")
        assert sandbox.status is SandboxStatus.INIT and sandbox.pod_name is None and sandbox.cluster_ip is None
        await sandbox.start()
        add_tool(skiff, "count", TOOL)
        await sandbox.stop()
        assert sandbox.status is SandboxStatus.IDLE and sandbox.pod_name is None
        with pytest.raises(SandboxError, match=r"must be running to call tools \(status=idle\): await start\(\) first"):
            await sandbox.run_tool("count", {})
        await sandbox.start()
        assert (await sandbox.run_tool("count", {"n": 1}))["status"] == "ok"
        await sandbox.cleanup()
        await sandbox.cleanup()
        return sandbox

    sandbox = asyncio.run(life())
    assert sandbox.status is SandboxStatus.CLOSED and skiff.names() == []


def test_moves_that_are_not_allowed_change_nothing(skiff):
    sandbox = KubernetesSandbox(sandbox_id="box")
    assert refusal(sandbox.stop()) == "Cannot transition from init to idle"
    assert "status=init" in refusal(sandbox.run_tool("count", {}))
    asyncio.run(sandbox.start())
    assert refusal(sandbox.start()) == "Cannot transition from running to running" and skiff.names() == ["box"]
    asyncio.run(sandbox.cleanup())
    assert "make another sandbox" in refusal(sandbox.start()) and skiff.names() == []


def test_errors_say_what_to_do(skiff, monkeypatch):
    sandbox = KubernetesSandbox(sandbox_id="box")
    asyncio.run(sandbox.start())
    assert 'has no tool "nope" in tools' in refusal(sandbox.run_tool("nope", {}))
    assert "not the name of a tool" in refusal(sandbox.run_tool("../sh", {}))
    other = KubernetesSandbox(sandbox_id="box")
    assert refusal(other.start()).startswith("Failed to start Kubernetes sandbox: ") and other.status is SandboxStatus.ERROR
    asyncio.run(sandbox.cleanup())
    assert "make build" in refusal(KubernetesSandbox(skiff="/nope/skiff").start())


def test_it_is_cleaned_up_when_its_scope_fails_or_is_cancelled(skiff):
    async def fails():
        async with KubernetesSandbox(sandbox_id="box"):
            assert skiff.names() == ["box"]
            raise LookupError("of the test")

    with pytest.raises(LookupError):
        asyncio.run(fails())
    assert skiff.names() == []

    async def cancelled():
        inside = asyncio.Event()

        async def life():
            async with KubernetesSandbox(sandbox_id="box"):
                inside.set()
                await asyncio.Event().wait()

        task = asyncio.ensure_future(life())
        await inside.wait()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    asyncio.run(cancelled())
    assert skiff.names() == []


def test_the_sandbox_of_another_is_left_alone(skiff):
    skiff.up("box")

    async def life():
        async with KubernetesSandbox(sandbox_id="box"):
            raise AssertionError("it was made twice")

    assert "Failed to start" in refusal(life()) and skiff.names() == ["box"]


def test_a_start_that_is_cancelled_leaves_nothing(skiff):
    async def cancelled():
        task = asyncio.ensure_future(KubernetesSandbox(sandbox_id="box").start())
        while not skiff.names():
            await asyncio.sleep(0.002)
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(cancelled())
    assert skiff.names() == []


def test_a_start_that_is_cancelled_in_its_last_moment_leaves_nothing(skiff):
    box = KubernetesSandbox(sandbox_id="box")
    told = box._told

    async def cancelled_when_described(*words):
        if words[0] != "describe":
            return await told(*words)
        assert skiff.names() == ["box"]
        raise asyncio.CancelledError

    box._told = cancelled_when_described
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(box.start())
    assert skiff.names() == []


def test_settings_come_from_variables(skiff, monkeypatch):
    assert {name: KubernetesSandbox().describe()[name] for name in ("namespace", "image", "status", "pod_name")} == {
        "namespace": "default", "image": "python:3.11-slim", "status": "init", "pod_name": None}
    monkeypatch.setenv("ORBITER_K8S_NAMESPACE", "agents")
    monkeypatch.setenv("SKIFF_IMAGE", "python:3.13")
    sandbox = KubernetesSandbox(workspace=["/data", "/more"], mcp_config={"a": 1})
    assert (sandbox.namespace, sandbox.image, sandbox.timeout) == ("agents", "python:3.13", 60.0)
    assert sandbox.describe()["workspace"] == ["/data", "/more"] and sandbox.describe()["mcp_config"] == {"a": 1}
    assert KubernetesSandbox(namespace="mine", image="x").describe()["namespace"] == "mine"


# The code in the class's own document, unchanged; the modules that it imports from are this example.

def test_the_documented_scope(skiff, monkeypatch):
    add = lambda: add_tool(skiff, "my_tool", TOOL, skiff.names()[0])
    start = KubernetesSandbox.start

    async def with_tool(self):
        await start(self)
        add()

    monkeypatch.setattr(KubernetesSandbox, "start", with_tool)
    with documented.modules(orbiter__sandbox__kubernetes=IMPORTED):
        _, names = documented.run("""
            from orbiter.sandbox.kubernetes import KubernetesSandbox

            async with KubernetesSandbox(namespace="dev", image="python:3.12") as sb:
                result = await sb.run_tool("my_tool", {"arg": "value"})
            # Pod and service automatically cleaned up
            """)
    assert names["result"]["result"] == {"got": {"arg": "value"}} and skiff.names() == []


def test_the_documented_life(skiff, monkeypatch):
    start = KubernetesSandbox.start

    async def with_tool(self):
        await start(self)
        add_tool(skiff, "process", TOOL, self.sandbox_id)

    monkeypatch.setattr(KubernetesSandbox, "start", with_tool)
    with documented.modules(orbiter__sandbox=IMPORTED):
        printed, names = documented.run("""
            from orbiter.sandbox import KubernetesSandbox

            sandbox = KubernetesSandbox(
                namespace="agents",
                image="python:3.12-slim",
                workspace=["/data"],
                timeout=120.0,
            )

            await sandbox.start()
            print(sandbox.pod_name)     # "orbiter-a1b2c3d4e5f6"
            print(sandbox.cluster_ip)   # "10.96.0.42"

            result = await sandbox.run_tool("process", {"data": "input"})

            await sandbox.cleanup()
            """)
    assert printed == f"orbiter-{names['sandbox'].sandbox_id}\n127.0.0.1\n"
    assert names["result"]["tool"] == "process" and names["result"]["status"] == "ok"
    assert json.dumps(names["sandbox"].describe()) and os.environ["SKIFF_DRIVER"] == "local"
