"""langchain-kubernetes 0.4.0 in its agent-sandbox mode, connected directly, and what DeepAgents does with its sandbox. The
SDK that it works with uploads a file under its last name alone, so files are at the root."""

import contextlib
import pathlib

import cases
from deepagents import create_deep_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_kubernetes import KubernetesProvider, KubernetesProviderConfig


@contextlib.contextmanager
def sandbox():
    provider = KubernetesProvider(KubernetesProviderConfig(
        mode="agent-sandbox", template_name="template", connection_mode="direct", api_url=cases.URL))
    yield provider.get_or_create()


def at_root(name):
    return f"{cases.ROOT}/{name}"


def case_execute(sandbox):
    result = sandbox.execute("echo out | cat; echo err >&2; exit 3")
    assert "out\n" in result.output and "err\n" in result.output and result.exit_code == 3, result


def case_upload_and_download(sandbox):
    content = bytes(range(256)) * 1000
    assert [one.error for one in sandbox.upload_files([(at_root("bytes.bin"), content)])] == [None]
    (answer,) = sandbox.download_files([at_root("bytes.bin")])
    assert answer.error is None and answer.content == content


def case_write_read_edit(sandbox):
    path = at_root("note.txt")
    assert sandbox.write(path, "first line\nit's $HOME `x`\n").error is None
    assert (pathlib.Path(cases.ROOT) / "note.txt").read_text() == "first line\nit's $HOME `x`\n"
    read = sandbox.read(path)
    assert read.error is None and "first line" in str(read.file_data), read
    edited = sandbox.edit(path, "it's $HOME", "that's \"quoted\"")
    assert edited.error is None and edited.occurrences == 1, edited
    assert (pathlib.Path(cases.ROOT) / "note.txt").read_text() == "first line\nthat's \"quoted\" `x`\n"


def case_ls_glob_grep(sandbox):
    sandbox.execute("mkdir -p tree/sub; echo needle > tree/sub/a.py; echo hay > tree/b.txt")
    listed = sandbox.ls(at_root("tree"))
    assert listed.error is None and {one["path"].rstrip("/").rpartition("/")[2] for one in listed.entries} == {"sub", "b.txt"}, listed
    found = sandbox.glob("**/*.py", at_root("tree"))
    assert found.error is None and len(found.matches) == 1, found
    hits = sandbox.grep("needle", at_root("tree"))
    assert hits.error is None and [one["text"] for one in hits.matches] == ["needle"], hits


def case_command_that_fails(sandbox):
    assert sandbox.execute("nope-nope").exit_code == 127


class Scripted(GenericFakeChatModel):
    """A model whose answers are known; it takes whatever tools it is given."""

    def bind_tools(self, tools, **_):
        return self


def case_agent(sandbox):
    """An agent runs a command by DeepAgents' own tool and sees what it printed."""
    call = {"name": "execute", "args": {"command": "echo $((6 * 7)) > answer; cat answer"}, "id": "1", "type": "tool_call"}
    model = Scripted(messages=iter([AIMessage(content="", tool_calls=[call]), AIMessage(content="done")]))
    agent = create_deep_agent(model=model, backend=sandbox)
    messages = agent.invoke({"messages": [{"role": "user", "content": "compute"}]})["messages"]
    assert messages[-1].content == "done"
    assert any("42" in str(message.content) for message in messages if message.type == "tool"), messages
    assert (pathlib.Path(cases.ROOT) / "answer").read_text() == "42\n"


if __name__ == "__main__":
    cases.main(sandbox)
