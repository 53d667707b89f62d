"""What the document of langchain-kubernetes shows, as it stands there, by the packages as they are. Two things differ: the
configuration always connects directly, as there are no router and no gateway, and the model is one whose answers are known.
Paths below /app and /tmp are below the runtime's own directory. Its raw mode speaks to Kubernetes alone, and is not here."""

import asyncio
import contextlib
import pathlib
import re
import types

import cases
import documented
import langchain_anthropic
import langchain_kubernetes
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

Config = langchain_kubernetes.KubernetesProviderConfig
langchain_kubernetes.KubernetesProviderConfig = lambda **given: Config(**{**given, "connection_mode": "direct", "api_url": cases.URL})


class Scripted(GenericFakeChatModel):
    """In place of a model of Anthropic's: it runs one command for each question."""

    def bind_tools(self, tools, **_):
        return self


def model(**_):
    def answers():
        for number in range(100):
            call = {"name": "execute", "args": {"command": "echo turn >> turns; wc -l < turns"}, "id": str(number), "type": "tool_call"}
            yield AIMessage(content="", tool_calls=[call])
            yield AIMessage(content="done")
    return Scripted(messages=answers())


langchain_anthropic.ChatAnthropic = model
PROVIDER = '''
from langchain_kubernetes import KubernetesProvider, KubernetesProviderConfig

provider = KubernetesProvider(
    KubernetesProviderConfig(
        template_name="python-sandbox-template",
    )
)
'''


@contextlib.contextmanager
def nothing():
    yield


def run(code, **names):
    return documented.run(re.sub(r'"/(app|tmp)\b', lambda _: f'"{cases.ROOT}', code), **names)


def case_quick_start(_):
    printed, _ = run(PROVIDER + '''
sandbox = provider.get_or_create()
try:
    result = sandbox.execute("python3 -c 'print(2 + 2)'")
    print(result.output)     # "4\\n"
    print(result.exit_code)  # 0
finally:
    provider.delete(sandbox_id=sandbox.id)
''')
    assert printed == "4\n\n0\n", printed


def case_execute(_):
    _, names = run(PROVIDER + "sandbox = provider.get_or_create()")
    printed, names = run('''
result = sandbox.execute("echo hello")
print(result.output)     # "hello\\n"
print(result.exit_code)  # 0
print(result.truncated)  # False
''', **names)
    assert printed == "hello\n\n0\nFalse\n", printed


def case_one_shot(_):
    printed, _ = run('''
from langchain_anthropic import ChatAnthropic
from deepagents import create_deep_agent
from langchain_kubernetes import KubernetesProvider, KubernetesProviderConfig

provider = KubernetesProvider(KubernetesProviderConfig(
    template_name="python-sandbox-template",
    # mode="raw", image="python:3.12-slim",   # raw mode alternative
))

sandbox = provider.get_or_create()
llm = ChatAnthropic(model="claude-opus-4-6")
agent = create_deep_agent(model=llm, backend=sandbox)

result = agent.invoke({
    "messages": [("user", "Write and run a Python script that prints the Fibonacci sequence")]
})
print(result["messages"][-1].content)

provider.delete(sandbox_id=sandbox.id)
''')
    assert printed == "done\n", printed
    assert (pathlib.Path(cases.ROOT) / "turns").read_text() == "turn\n"


def case_a_sandbox_for_each_conversation(_):
    """Its FastAPI is as much of it as the code shows."""
    (pathlib.Path(cases.ROOT) / "turns").unlink(missing_ok=True)
    fastapi = types.SimpleNamespace(FastAPI=lambda lifespan: types.SimpleNamespace(post=lambda path: lambda handler: handler))
    with documented.modules(fastapi=vars(fastapi)):
        _, names = run('''
from contextlib import asynccontextmanager
from fastapi import FastAPI
from langchain_anthropic import ChatAnthropic
from langgraph.checkpoint.memory import MemorySaver
from langchain_kubernetes import KubernetesSandboxManager, KubernetesProviderConfig

llm = ChatAnthropic(model="claude-opus-4-6")
manager = KubernetesSandboxManager(
    KubernetesProviderConfig(
        template_name="python-sandbox-template",
        connection_mode="gateway",
        gateway_name="my-gateway",
    ),
    ttl_idle_seconds=1800,   # sandbox expires after 30 min of inactivity
)

agent = None

@asynccontextmanager
async def lifespan(app: FastAPI):
    global agent
    # MemorySaver keeps conversation state in-process.
    # Replace with PostgresSaver / RedisSaver for multi-process deployments.
    agent = manager.create_agent(llm, checkpointer=MemorySaver())
    yield
    await manager.acleanup()

app = FastAPI(lifespan=lifespan)

@app.post("/chat/{thread_id}")
async def chat(thread_id: str, message: str):
    result = await agent.ainvoke(
        {"messages": [("user", message)]},
        config={"configurable": {"thread_id": thread_id}},
    )
    return {"reply": result["messages"][-1].content}
''')

    async def served():
        async with names["lifespan"](names["app"]):
            return [await names["chat"](thread, "go on") for thread in ("a", "a", "b")]

    assert asyncio.run(served()) == [{"reply": "done"}] * 3
    assert (pathlib.Path(cases.ROOT) / "turns").read_text() == "turn\n" * 3


def case_file_operations(_):
    """It takes an output for granted, too: of a file that is missing this package makes None."""
    (pathlib.Path(cases.ROOT) / "output.txt").write_bytes(b"42\n")
    _, names = run(PROVIDER + "sandbox = provider.get_or_create()")
    printed, names = run('''
# Write / read files
sandbox.write("/tmp/script.py", "print('hello')\\n")
content = sandbox.read("/tmp/script.py")

# Edit (string replacement)
sandbox.edit("/tmp/script.py", "hello", "world")

# List directory
entries = sandbox.ls_info("/tmp")

# Glob
matches = sandbox.glob_info("**/*.py", path="/app")

# Grep
hits = sandbox.grep_raw("def main", path="/app")

# Batch upload (bytes)
sandbox.upload_files([
    ("/app/data.csv", b"col1,col2\\n1,2\\n"),
    ("/app/config.json", b'{"key": "val"}'),
])

# Batch download (bytes)
responses = sandbox.download_files(["/app/output.txt"])
print(responses[0].content)
''', **names)
    assert "print('hello')" in str(names["content"]) and printed == "b'42\\n'\n", (names["content"], printed)
    root = pathlib.Path(cases.ROOT)
    assert (root / "script.py").read_text() == "print('world')\n" and (root / "data.csv").read_bytes() == b"col1,col2\n1,2\n"
    assert any(one["path"].endswith("script.py") for one in names["entries"]) and names["hits"] == []
    assert any(one["path"].endswith("script.py") for one in names["matches"]), names["matches"]


def case_async_usage(_):
    printed, _ = run('''
import asyncio
from langchain_kubernetes import KubernetesProvider, KubernetesProviderConfig

async def main():
    provider = KubernetesProvider(
        KubernetesProviderConfig(template_name="python-sandbox-template")
    )
    sandbox = await provider.aget_or_create()
    try:
        result = await sandbox.aexecute("echo async")
        print(result.output)
    finally:
        await provider.adelete(sandbox_id=sandbox.id)

asyncio.run(main())
''')
    assert printed == "async\n\n", printed


if __name__ == "__main__":
    cases.main(nothing)
