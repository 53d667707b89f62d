"""A CodeAgent of smolagents with `executor_type="e2b"`, as its documents tell. A stand-in, which follows a script, is the model."""

from smolagents import ChatMessage, CodeAgent, Model


class StandIn(Model):
    """It has no intelligence: its answers are written here."""

    def __init__(self, *script):
        super().__init__()
        self.script = list(script)

    def generate(self, messages, **_):
        return ChatMessage(role="assistant", content=self.script.pop(0))


model = StandIn("Thought: first\n<code>\nvalue = 6 * 7\nprint('value', value)\n</code>",
                "Thought: last\n<code>\nfinal_answer(value + 1)\n</code>")
with CodeAgent(model=model, tools=[], executor_type="e2b", verbosity_level=0) as agent:
    print(agent.run("Compute."))
