"""The heads of the requests that skiff sends: each field once. Servers and proxies differ in which of two they go by."""

import pytest

from launcher import DirectSkiff
from mcp_client import NEWEST
from mcp_stdio import Stdio
from recording_proxy import RecordingProxy
from upstream import Recorded, Upstream, repeated

TRACED = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture
def proxy(agent):
    with RecordingProxy((agent.ip, agent.port)) as one:
        yield one


@pytest.fixture
def collector():
    recorded = Recorded()
    with Upstream(recorded) as recorded.server:
        yield recorded


@pytest.fixture
def skiff(tmp_path, agent, proxy, collector):
    folder = tmp_path / "launcher"
    folder.mkdir()
    client = DirectSkiff(folder, agent)
    client.variables |= {"SKIFF_URL": proxy.url, "TRACEPARENT": TRACED,
                         "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.server.port}"}
    yield client
    client.finish()


def use(skiff):
    """Runs commands that send each kind of request."""
    assert skiff("exec", "x", "echo", "out")[0] == "out\n"
    assert skiff("exec", "-i", "x", "cat", typed=b"fed")[0] == "fed"
    assert skiff("exec", "x", "--mode", "wait", "--", "echo", "waited")[0] == "waited\n"
    assert skiff("shell", "x", typed=b"echo shell\n")[0] == "shell\n"
    skiff("exec", "x", "-d", "--id", "job", "--", "echo", "done")
    assert skiff("logs", "-f", "x", "job")[0] == "done\n"
    (skiff.work / "file").write_text("copied")
    (skiff.work / "folder").mkdir()
    (skiff.work / "folder" / "f").write_text("in it")
    skiff("cp", "file", "x:there")
    skiff("cp", "folder", "x:folder")
    skiff("cp", "x:there", "back")
    skiff("cp", "x:folder", "returned")
    skiff("files", "write", "x", "written", typed=b"text")
    skiff("files", "edit", "x", "written", "--old", "text", "--new", "new text")
    for words in (["ls", "x"], ["cat", "x", "written"], ["stat", "x", "written"], ["grep", "x", "text"], ["glob", "x", "*"],
                  ["rm", "x", "written"], ["rm", "x", "there"], ["rm", "-r", "x", "folder"]):
        skiff("files", *words)
    for words in (["top", "x"], ["describe", "x"], ["version", "x"], ["extend", "x", "--ttl", "2h"], ["doctor"], ["ps"],
                  ["session", "create", "x", "s1"], ["session", "ls", "x"], ["session", "rm", "x", "s1"]):
        skiff(*words)


def speak_mcp(skiff):
    for revision in ("2025-11-25", NEWEST):
        client = Stdio(skiff, "x", driver="direct", revision=revision)
        if revision != NEWEST:
            client.begin()
        assert client.tool("run_command", command="echo on")["stdout"] == "on\n"
        client.end()


def test_each_field_stands_there_once(skiff, proxy, collector):
    use(skiff)
    speak_mcp(skiff)
    heads = list(proxy.heads())
    assert {line.split()[0] for line, _ in heads} == {"GET", "POST", "PUT", "PATCH", "DELETE"}
    for needed in ("x-skiff-token", "traceparent", "sec-websocket-key", "mcp-protocol-version", "content-type"):
        assert [line for line, fields in heads if needed in (name.lower() for name, _ in fields)], needed
    assert not {(line, *repeated(fields)) for line, fields in heads if repeated(fields)}
    assert collector.requests and not [fields for _, fields, _ in collector.requests if repeated(fields)]


def test_each_field_stands_there_once_although_a_variable_names_it_too(skiff, collector):
    """OTEL_EXPORTER_OTLP_HEADERS is whatever somebody has written there."""
    skiff("exec", "x", "true", env={"OTEL_EXPORTER_OTLP_HEADERS": "host=collector.example,content-length=3,x-key=1,x-key=2,"
                                    "transfer-encoding=chunked,content-type=text/plain,user-agent=me,connection=close"})
    for _, fields, body in collector.requests:
        assert not repeated(fields), fields
        assert body.startswith(b'{"resourceSpans"')
    assert collector.values("host") == ["collector.example"] and collector.values("x-key") == ["2"]
    assert collector.values("content-type") == ["application/json"]
