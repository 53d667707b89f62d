"""The code in the document of langchain-kubernetes, with the packages as they are. It is changed in three places: the
configuration always connects directly, as there are no router and no gateway; it names no warm pool, which the package hands to
an SDK that knows none; and the model is one whose answers are known.
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
from langgraph.checkpoint.memory import MemorySaver

Config = langchain_kubernetes.KubernetesProviderConfig
langchain_kubernetes.KubernetesProviderConfig = lambda **given: Config(
    **{**given, "connection_mode": "direct", "api_url": cases.URL, "warm_pool_name": None})


class Scripted(GenericFakeChatModel):
    """Replaces a model of Anthropic's: it runs one command for each question."""

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
    """The FastAPI here is the part of it that the code uses."""
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


def case_configuration(_):
    _, names = run("""
from langchain_kubernetes import KubernetesProvider, KubernetesProviderConfig

config = KubernetesProviderConfig(
    # Required: SandboxTemplate CR name (must exist in the cluster)
    template_name="python-sandbox-template",

    # Kubernetes namespace where sandboxes are created
    namespace="default",

    # How to connect to the sandbox-router:
    #   "tunnel"  — auto port-forward via kubectl (default, good for local dev)
    #   "gateway" — route through a Kubernetes Gateway resource
    #   "direct"  — connect to an explicit URL (for in-cluster or custom domains)
    connection_mode="tunnel",

    # For gateway mode
    gateway_name=None,
    gateway_namespace="default",

    # For direct mode
    api_url=None,

    # Port the sandbox runtime listens on
    server_port=8888,

    # Seconds to wait for sandbox to become ready
    startup_timeout_seconds=120,

    # Default per-execute() timeout in seconds
    default_exec_timeout=1800,
)
""")
    sandbox = langchain_kubernetes.KubernetesProvider(names["config"]).get_or_create()
    assert sandbox.execute("pwd").output == cases.ROOT + "\n"


def case_a_time_limit_of_one_call(_):
    """The package gives up by itself, which it says so."""
    _, names = run(PROVIDER + "sandbox = provider.get_or_create()")
    try:
        run("""
# Per-call timeout
result = sandbox.execute("sleep 60", timeout=5)
""", **names)
    except RuntimeError as error:
        assert "Failed to communicate with the sandbox" in str(error)
    else:
        raise AssertionError("the package waited for it")


def case_the_provider(_):
    """It takes the id of a sandbox for granted that may be gone."""
    _, names = run(PROVIDER)
    _, names = run("""
# Create new sandbox
sandbox = provider.get_or_create()

# Reconnect to existing sandbox, or create a new one if it no longer exists
sandbox = provider.get_or_create(
    sandbox_id="existing-id",           # from LangGraph state
    labels={"customer": "acme"},        # auto-prefixed with langchain-kubernetes.bitkaio.com/
    ttl_seconds=3600,                   # absolute TTL from creation
    ttl_idle_seconds=600,               # idle TTL from last execute()
)

# List all managed sandboxes from the K8s API
response = provider.list()
response = provider.list(status="running")
response = provider.list(labels={"customer": "acme"})
for sb in response.sandboxes:
    print(sb.id, sb.status, sb.created_at)
next_page = provider.list(cursor=response.cursor)  # pagination

# Operational methods
result = provider.cleanup()                    # CleanupResult(deleted=[...], kept=N)
result = provider.cleanup(max_idle_seconds=300)
status = provider.pool_status()                # WarmPoolStatus(available, active, total, target)

# Async variants
sandbox  = await provider.aget_or_create(sandbox_id="existing-id")
response = await provider.alist()
result   = await provider.acleanup()
""", **names)
    assert names["sandbox"].execute("echo there").output == "there\n"
    run("""
# Delete (idempotent)
provider.delete(sandbox_id=sandbox.id)
await provider.adelete(sandbox_id=sandbox.id)
""", **names)


MANAGER = """
from langchain_kubernetes import KubernetesSandboxManager, KubernetesProviderConfig

manager = KubernetesSandboxManager(
    KubernetesProviderConfig(
        template_name="python-sandbox-template",
    ),
    ttl_seconds=3600,         # reclaim after 1h regardless of activity
    ttl_idle_seconds=1800,    # reclaim after 30 min of inactivity
    default_labels={"project": "my-agent", "env": "prod"},
)
"""


def case_the_manager(_):
    """The package has no get_or_reconnect(), which the document names. What the context manager is to do is three dots there."""
    (pathlib.Path(cases.ROOT) / "turns").unlink(missing_ok=True)
    config = langchain_kubernetes.KubernetesProviderConfig(template_name="python-sandbox-template")
    _, names = run(MANAGER + """
# Primary: LangGraph node factory — see "Usage with DeepAgents" section
node_fn = manager.create_agent_node(llm)

answer = await node_fn({"messages": [("user", "go on")]})

# Operational
await manager.acleanup()     # delete expired sandboxes
await manager.ashutdown()    # delete all sandboxes

# Context manager — calls shutdown() on exit
async with KubernetesSandboxManager(config) as manager:
    ...
""", llm=model(), config=config)
    assert names["answer"]["messages"][-1].content == "done"
    assert (pathlib.Path(cases.ROOT) / "turns").read_text() == "turn\n"


def case_a_prompt_of_ones_own(_):
    (pathlib.Path(cases.ROOT) / "turns").unlink(missing_ok=True)
    _, names = run(MANAGER + """
graph = manager.create_agent(
    llm,
    system_prompt="You are a data analyst. Always save outputs to /workspace/output/.",
    # tools=[my_custom_tool],
)
""", llm=model())
    answer = asyncio.run(names["graph"].ainvoke({"messages": [("user", "go on")]}, config={"configurable": {"thread_id": "a"}}))
    assert answer["messages"][-1].content == "done" and (pathlib.Path(cases.ROOT) / "turns").read_text() == "turn\n"


class Platform:
    """The part of LangGraph's that the code uses: it keeps the state of each thread of a graph."""

    def __init__(self, graph):
        graph.checkpointer = MemorySaver()
        self.graph, self.answers = graph, []
        self.threads = self.runs = self

    async def create(self, thread_id=None, assistant_id=None, input=None):
        if thread_id is None:
            return {"thread_id": "a"}
        assert assistant_id == "agent"
        self.answers.append(await self.graph.ainvoke(input, config={"configurable": {"thread_id": thread_id}}))


def case_a_graph_for_the_platform(_):
    (pathlib.Path(cases.ROOT) / "turns").unlink(missing_ok=True)
    _, names = run("""
from langchain_anthropic import ChatAnthropic
from langchain_kubernetes import KubernetesSandboxManager, KubernetesProviderConfig

llm = ChatAnthropic(model="claude-opus-4-6")

manager = KubernetesSandboxManager(
    KubernetesProviderConfig(
        template_name="python-sandbox-template",
        connection_mode="gateway",
        gateway_name="my-gateway",
        warm_pool_name="python-pool",   # optional: sub-second startup
    ),
    ttl_idle_seconds=1800,
    default_labels={"app": "my-agent"},
)

# The platform provides the checkpointer — pass None here
graph = manager.create_agent(llm)
""")
    platform = Platform(names["graph"])
    with documented.modules(langgraph_sdk={"get_client": lambda url: platform}):
        run("""
from langgraph_sdk import get_client

client = get_client(url="http://localhost:2024")
thread = await client.threads.create()

# First run — provisions a sandbox for this thread
await client.runs.create(
    thread_id=thread["thread_id"],
    assistant_id="agent",
    input={"messages": [{"role": "user", "content": "Install pandas and analyse the iris dataset"}]},
)

# Second run — reconnects to the same sandbox automatically
await client.runs.create(
    thread_id=thread["thread_id"],
    assistant_id="agent",
    input={"messages": [{"role": "user", "content": "Now plot a histogram of petal length"}]},
)
""")
    assert (pathlib.Path(cases.ROOT) / "turns").read_text() == "turn\n" * 2
    assert [answer["messages"][-1].content for answer in platform.answers] == ["done"] * 2


if __name__ == "__main__":
    cases.main(nothing)
