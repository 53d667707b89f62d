"""A round through a sandbox with the official Python client, of version 2 or 1: python_client.py MODE URL|COMMAND...

MODE is `auto` (the newest revision that both know) or `legacy` (with a handshake). The token is in SKIFF_TOKEN."""

import asyncio
import contextlib
import importlib.metadata
import json
import os
import sys

MODE, TARGET = sys.argv[1], sys.argv[2:]
IS_HTTP = TARGET[0].startswith("http")
HEADERS = {"Authorization": f"Bearer {os.environ.get('SKIFF_TOKEN', '')}"}
VERSION = importlib.metadata.version("mcp")


@contextlib.asynccontextmanager
async def connect_newest():
    import httpx2
    from mcp import Client, StdioServerParameters
    from mcp.client.streamable_http import streamable_http_client

    async with contextlib.AsyncExitStack() as stack:
        if IS_HTTP:
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=HEADERS, timeout=60))
            server = streamable_http_client(TARGET[0], http_client=http)
        else:
            server = StdioServerParameters(command=TARGET[0], args=TARGET[1:], env=dict(os.environ))
        client = await stack.enter_async_context(Client(server, mode=MODE))
        assert (client.protocol_version == "2026-07-28") == (MODE == "auto"), client.protocol_version
        yield client


@contextlib.asynccontextmanager
async def connect_oldest():
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamablehttp_client

    parameters = None if IS_HTTP else StdioServerParameters(command=TARGET[0], args=TARGET[1:], env=dict(os.environ))
    transport = streamablehttp_client(TARGET[0], headers=HEADERS) if IS_HTTP else stdio_client(parameters)
    async with transport as (reader, writer, *_), ClientSession(reader, writer) as session:
        hello = await session.initialize()
        assert hello.protocolVersion == "2025-06-18", hello
        yield session


def structured(result):
    value = getattr(result, "structured_content", None) or getattr(result, "structuredContent", None)
    assert json.loads(result.content[0].text) == value
    return value


def is_error(result):
    return result.is_error if hasattr(result, "is_error") else result.isError


async def walk(client):
    tools = (await client.list_tools()).tools
    assert len(tools) == 18, len(tools)

    async def tool(name, **arguments):
        result = await client.call_tool(name, arguments)
        assert not is_error(result), result.content[0].text
        return structured(result)

    assert (await tool("run_command", command="echo $((6 * 7)); exit 3"))["exit_code"] == 3
    begun = await tool("run_command", command="echo begun; read x; echo got $x", background=True, stdin_open=True)
    assert (await tool("wait_for", command=begun["id"], pattern="begun"))["met"]
    await tool("write_input", command=begun["id"], text="it\n", eof=True)
    assert (await tool("wait_for", command=begun["id"]))["exit_code"] == 0
    assert (await tool("read_output", command=begun["id"]))["stdout"] == "begun\ngot it\n"
    assert (await tool("list_commands"))["items"]
    sleeping = await tool("run_command", command="sleep 100", background=True)
    await tool("send_signal", command=sleeping["id"])
    await tool("create_session", id="mine")
    assert (await tool("list_sessions"))["items"]
    await tool("delete_session", session="mine")
    await tool("write_file", path="w/d/a.txt", text="one\ntwo\n")
    await tool("edit_file", path="w/d/a.txt", edits=[{"old": "two", "new": "2"}])
    assert (await tool("read_file", path="w/d/a.txt"))["text"] == "one\n2\n"
    assert (await tool("list_directory", path="w/d"))["items"]
    assert (await tool("find_files", pattern="**/*.txt"))["items"]
    assert (await tool("search_files", pattern="on."))["items"]
    await tool("apply_changes", operations=[{"op": "move", "path": "w/d/a.txt", "to": "w/b.txt"}])
    assert (await tool("watch_changes", path="w"))["items"] == []
    wrong = await client.call_tool("read_file", {"path": "nope"})
    assert is_error(wrong) and "list_directory" in wrong.content[0].text

    told = []

    async def progress(amount, total, message):
        told.append((amount, total, message))

    slow = await client.call_tool("run_command", {"command": "sleep 2.5"}, progress_callback=progress)
    assert structured(slow)["exit_code"] == 0 and len(told) >= 1 and told[0][1] == 50000, told

    uri = "skiff://default/files/w/b.txt"
    listed = (await client.list_resources()).resources
    assert any(str(one.uri).startswith("skiff://default/logs/") for one in listed)
    templates = await client.list_resource_templates()
    assert len(getattr(templates, "resource_templates", None) or templates.resourceTemplates) == 2
    read = await client.read_resource(uri)
    assert read.contents[0].text == "one\n2\n"
    if hasattr(client, "listen") and MODE == "auto":
        async with client.listen(resource_subscriptions=[uri]) as subscription:
            await tool("write_file", path="w/b.txt", text="3")
            async for event in subscription:
                assert uri in str(event), event
                break
    else:
        await client.subscribe_resource(uri)
        await client.unsubscribe_resource(uri)

    # A call that is given up ends, and with it the command that it waits for.
    with contextlib.suppress(TimeoutError, asyncio.TimeoutError):
        await asyncio.wait_for(client.call_tool("run_command", {"command": "sleep 1000", "id": "given-up"}), 2)
    if VERSION.startswith("2."):
        assert (await tool("wait_for", command="given-up"))["cause"] == "killed_by_client"
    await tool("run_command", command="rm -r w")  # what is watched in it is over with it


async def main():
    async with (connect_newest() if VERSION.startswith("2.") else connect_oldest()) as client:
        await walk(client)
    print("all is well")


asyncio.run(main())
