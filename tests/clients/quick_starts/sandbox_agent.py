"""A sandbox agent of the OpenAI Agents SDK with the SDK's own client for E2B, from the calls that its documents name. The
documents' question goes to OpenAI's model; a stand-in, which follows a script, answers it here. An argument names a template."""

import asyncio
import json
import sys

from agents import Model, ModelResponse, Runner, Usage
from agents.extensions.sandbox import E2BSandboxClient, E2BSandboxClientOptions, E2BSandboxType
from agents.run import RunConfig
from agents.sandbox import Manifest, SandboxAgent, SandboxRunConfig
from agents.sandbox.entries import File
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText


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


async def main():
    model = StandIn(("exec_command", {"cmd": "cat README.md; pwd; echo $((6 * 7)) >answer.txt"}),
                    ("exec_command", {"cmd": "cat answer.txt; exit 3"}),
                    ("exec_command", {"cmd": "echo ready; read line; echo got $line", "tty": True, "yield_time_ms": 1000}))
    agent = SandboxAgent(name="Assistant", instructions="Look at the workspace first.", model=model,
                         default_manifest=Manifest(entries={"README.md": File(content=b"# Notes\n")}))
    options = E2BSandboxClientOptions(sandbox_type=E2BSandboxType.E2B, template=next(iter(sys.argv[1:]), None), timeout=300)
    result = await Runner.run(agent, "What is here?", run_config=RunConfig(
        tracing_disabled=True, sandbox=SandboxRunConfig(client=E2BSandboxClient(), options=options)))
    print(result.final_output)
    for item in result.to_input_list():
        if item.get("type") == "function_call_output":
            print(item["output"])


asyncio.run(main())
