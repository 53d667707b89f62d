"""The sandbox client for the OpenAI Agents SDK, used by its own runner and sessions. A stand-in with a script is the model."""

import io
import json
import pathlib
import tempfile

import cases
from agents import Model, ModelResponse, Runner, Usage
from agents.run import RunConfig
from agents.sandbox import LocalSnapshotSpec, Manifest, SandboxAgent, SandboxRunConfig
from agents.sandbox.entries import Dir, File
from agents.sandbox.errors import ExecTimeoutError, WorkspaceReadNotFoundError
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from skiff_sandbox import Sandbox, SkiffError
from skiff_sandbox.integrations.openai_agents import SkiffSandboxClient, SkiffSandboxClientOptions

MANIFEST = Manifest(entries={"notes/README.md": File(content=b"# Notes\n"), "cache": Dir(ephemeral=True)}, environment={"value": {"WHO": "me"}})


class opened:
    """A started session of the client."""

    async def __aenter__(self):
        self.client = SkiffSandboxClient()
        self.session = await self.client.create(manifest=MANIFEST.model_copy(deep=True))
        await self.session.start()
        return self

    async def __aexit__(self, *_):
        await self.session.aclose()
        self.gone(self.session.state.sandbox_id)

    def gone(self, id):
        assert cases.raises(SkiffError, lambda: Sandbox.connect(id)).code in ("sandbox_not_found", "program_failed")


async def case_commands(opened):
    session = opened.session
    told = await session.exec("echo $WHO; pwd; echo bad >&2; exit 3")
    assert (told.stdout.decode(), told.stderr, told.exit_code) == (f"me\n{session.state.manifest.root}\n", b"bad\n", 3), told
    assert (await session.exec("printf", "%s", "a b", shell=False)).stdout == b"a b"
    assert (await session.exec("kill -9 $$")).exit_code == 137
    assert (await session.exec("nope-nope", shell=False)).exit_code == 127
    try:
        await session.exec("sleep 60", timeout=0.3)
        raise AssertionError("it ended")
    except ExecTimeoutError:
        pass
    assert await session.running()


async def case_files(opened):
    session = opened.session
    assert (await session.read(pathlib.Path("notes/README.md"))).read() == b"# Notes\n"
    everything = bytes(range(256)) * 1000
    await session.write(pathlib.Path("deep/er/bytes"), io.BytesIO(everything))
    assert (await session.read(pathlib.Path("deep/er/bytes"))).read() == everything
    await session.mkdir("made/below", parents=True)
    await session.rm("deep", recursive=True)
    assert {pathlib.PurePath(entry.path).name for entry in await session.ls(".")} >= {"notes", "made", "cache"}
    try:
        await session.read(pathlib.Path("deep/er/bytes"))
        raise AssertionError("it is gone")
    except WorkspaceReadNotFoundError:
        pass


async def case_a_terminal(opened):
    session = opened.session
    update = await session.pty_exec_start("stty size; read line; echo got $line; exit 4", tty=True, yield_time_s=0.5)
    assert update.process_id and update.exit_code is None, update
    text = update.output
    while b"24 80" not in text:
        text += (await session.pty_write_stdin(session_id=update.process_id, chars="", yield_time_s=0.3)).output
    last = await session.pty_write_stdin(session_id=update.process_id, chars="ü\n", yield_time_s=20)
    assert last.process_id is None and last.exit_code == 4 and "got ü" in last.output.decode(), last
    server = await session.pty_exec_start("echo up; exec sleep 4329", yield_time_s=0.3)
    assert server.process_id
    await session.pty_terminate_all()
    assert (await session.exec("pgrep -f '^sleep 4329$'")).exit_code == 1


async def case_a_workspace_that_is_persisted(opened):
    """The sandbox is gone: another one has its files, but for what is ephemeral."""
    with tempfile.TemporaryDirectory() as folder:
        client = SkiffSandboxClient()
        session = await client.create(manifest=MANIFEST.model_copy(deep=True), snapshot=LocalSnapshotSpec(base_path=pathlib.Path(folder)))
        await session.start()
        await session.exec("echo kept >result; ln -s result link; chmod 751 result; echo lost >cache/x")
        await session.aclose()
        state = client.deserialize_session_state(json.loads(json.dumps(client.serialize_session_state(session.state))))
        opened.gone(state.sandbox_id)
        again = await client.resume(state)
        await again.start()
        told = await again.exec("cat link notes/README.md; stat -c %a result; ls cache")
        assert told.stdout == b"kept\n# Notes\n751\n", told.stdout
        assert again.state.sandbox_id != session.state.sandbox_id
        await again.aclose()


async def case_a_session_that_is_resumed(opened):
    """The same sandbox, as another process finds it."""
    await opened.session.exec("echo here >file")
    state = opened.client.deserialize_session_state(json.loads(json.dumps(opened.client.serialize_session_state(opened.session.state))))
    again = await SkiffSandboxClient().resume(state)
    await again.start()
    assert (await again.read(pathlib.Path("file"))).read() == b"here\n" and again.state.sandbox_id == opened.session.state.sandbox_id


class StandIn(Model):
    """It has no intelligence: it calls tools in the order of the script, and then says `done`."""

    def __init__(self, *script):
        self.script = [ResponseFunctionToolCall(type="function_call", call_id=str(number), name=name, arguments=json.dumps(arguments))
                       for number, (name, arguments) in enumerate(script)]

    async def get_response(self, *_, **__):
        text = ResponseOutputText(type="output_text", text="done", annotations=[])
        last = ResponseOutputMessage(id="last", type="message", role="assistant", status="completed", content=[text])
        return ModelResponse(output=[self.script.pop(0) if self.script else last], usage=Usage(), response_id=None)

    def stream_response(self, *_, **__):
        raise NotImplementedError


async def case_an_agent(_):
    model = StandIn(("exec_command", {"cmd": "cat notes/README.md; echo $((6 * 7)) >answer"}), ("exec_command", {"cmd": "cat answer; exit 3"}))
    agent = SandboxAgent(name="Assistant", instructions="Work.", model=model, default_manifest=MANIFEST)
    config = RunConfig(tracing_disabled=True, sandbox=SandboxRunConfig(client=SkiffSandboxClient(), options=SkiffSandboxClientOptions()))
    result = await Runner.run(agent, "Go", run_config=config)
    told = [item["output"] for item in result.to_input_list() if item.get("type") == "function_call_output"]
    assert result.final_output == "done" and "# Notes" in told[0] and "code 3" in told[1] and "42" in told[1], told


if __name__ == "__main__":
    cases.main(opened)
