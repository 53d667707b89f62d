"""The executor for smolagents, used by its own CodeAgent, whose model's answers are known."""

import contextlib

import cases
from skiff_sandbox import Sandbox
from skiff_sandbox.integrations.smolagents import SkiffExecutor
from smolagents import AgentLogger, ChatMessage, CodeAgent, LogLevel, Model, tool
from smolagents.utils import AgentError

LOGGER = AgentLogger(level=LogLevel.OFF)


@contextlib.contextmanager
def executor():
    made = SkiffExecutor([], LOGGER, timeout=20)
    yield made
    made.cleanup()


class Scripted(Model):
    def __init__(self, *answers):
        super().__init__()
        self.answers = list(answers)

    def generate(self, messages, **_):
        return ChatMessage(role="assistant", content=self.answers.pop(0))


@tool
def double(number: int) -> int:
    """Doubles a number.

    Args:
        number: The number.
    """
    return 2 * number


def case_code(executor):
    told = executor("import os\nx = 6\nprint('said')\nx * 7")
    assert (told.output, told.logs, told.is_final_answer) == (42, "said\n", False), told
    assert executor("def f():\n    return x + 1\nf()").output == 7
    assert executor("y = 1").output is None
    assert "from a child" in executor("os.system('echo from a child')").logs
    assert executor("'\\u2028' + str(len('x' * 5_000_000))").output == "\u20285000000"


def case_errors(executor):
    error = cases.raises(AgentError, lambda: executor("print('before')\n1 / 0"))
    assert "before" in str(error) and "ZeroDivisionError" in str(error)
    assert "SyntaxError" in str(cases.raises(AgentError, lambda: executor("1 +")))
    assert "variables are lost" in str(cases.raises(AgentError, lambda: executor("os._exit(3)")))
    assert executor("1 + 1").output == 2


def case_a_time_limit(executor):
    executor._timeout = 1
    assert "1 s" in str(cases.raises(AgentError, lambda: executor("import time\ntime.sleep(60)")))
    executor._timeout = 20
    assert executor("2 + 2").output == 4
    assert "pip could not" in str(cases.raises(AgentError, lambda: executor.install_packages(["/nope/at-all"])))


def case_an_agent(_):
    model = Scripted("Thought: first\n<code>\nvalue = double(number=start)\nprint(value)\n</code>",
                     "Thought: last\n<code>\nfinal_answer({'value': value + 1, 'set': (1, 2)})\n</code>")
    with Sandbox.create() as box:
        made = SkiffExecutor([], LOGGER, sandbox=box)
        agent = CodeAgent(tools=[double], model=model, executor=made, verbosity_level=LogLevel.OFF)
        assert agent.run("compute", additional_args={"start": 20}) == {"value": 41, "set": (1, 2)}
        agent.cleanup()
        assert box.run("echo still").stdout == "still\n"


if __name__ == "__main__":
    cases.main(executor)
