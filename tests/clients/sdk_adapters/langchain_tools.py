"""The tools for LangChain, called by an agent of LangGraph's whose model's answers are known."""

import asyncio
import contextlib

import cases
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from skiff_sandbox import Sandbox
from skiff_sandbox.integrations.langchain import skiff_tools


@contextlib.contextmanager
def box():
    with Sandbox.create() as made:
        yield made


class Scripted(GenericFakeChatModel):
    def bind_tools(self, tools, **_):
        return self


def calls(*wanted):
    return [AIMessage(content="", tool_calls=[{"name": name, "args": arguments, "id": str(number), "type": "tool_call"}])
            for number, (name, arguments) in enumerate(wanted)] + [AIMessage(content="done")]


SCRIPT = (("run_command", {"command": "echo out; echo err >&2; exit 3"}), ("write_file", {"path": "a/n.py", "content": "n = 1\n"}),
          ("edit_file", {"path": "a/n.py", "old": "1", "new": "23"}), ("read_file", {"path": "a/n.py"}), ("list_files", {"path": "."}),
          ("find_files", {"pattern": "**/*.py"}), ("search_files", {"pattern": "n ="}), ("read_file", {"path": "nope"}),
          ("run_command", {"command": "sleep 60", "timeout_seconds": 0.2}))


def check(told):
    said = [message.content for message in told["messages"] if message.type == "tool"]
    assert said[0] == "out\n[stderr]\nerr\n[exit code 3]", said[0]
    assert "+n = 23" in said[2] and said[3] == "n = 23\n" and said[4] == "a/", said
    assert said[5] == "a/n.py" and said[6] == "a/n.py:1: n = 23" and "path_not_found" in said[7], said
    assert said[8] == "[ended at its time limit]", said[8]
    assert told["messages"][-1].content == "done"


def case_an_agent(box):
    agent = create_agent(Scripted(messages=iter(calls(*SCRIPT))), tools=skiff_tools(box))
    check(agent.invoke({"messages": [("user", "go on")]}))


def case_an_asynchronous_agent(box):
    box.files.remove("a", recursive=True)
    agent = create_agent(Scripted(messages=iter(calls(*SCRIPT))), tools=skiff_tools(box))
    check(asyncio.run(agent.ainvoke({"messages": [("user", "go on")]})))


def case_descriptions(box):
    for tool in skiff_tools(box):
        assert tool.description and tool.args, tool


if __name__ == "__main__":
    cases.main(box)
