"""`skiff mcp config`: the lines that users paste into the configuration of a client. The client's part is done with them."""

import json
import subprocess
import tomllib

import pytest

from launcher import DRIVER
from mcp_stdio import Stdio

#: client -> the keys above the server, and the type that it wants
CLIENTS = {"claude-desktop": ("mcpServers", None), "claude-code": ("mcpServers", "stdio"), "cursor": ("mcpServers", None),
           "vscode": ("servers", "stdio"), "codex": ("mcp_servers", None), "zed": ("context_servers", None)}


def server_in(client, text):
    """The server's entry in a configuration."""
    key, kind = CLIENTS[client]
    whole = tomllib.loads(text) if client == "codex" else json.loads(text)
    assert list(whole) == [key] and list(whole[key]) == ["sandbox"]
    server = whole[key]["sandbox"]
    assert server.pop("type", None) == kind
    assert set(server) == {"command", "args"}
    return server


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_starts_what_the_lines_say(skiff, client):
    out, err = skiff("mcp", "config", client)
    server = server_in(client, out)
    assert server == {"command": skiff.program, "args": ["mcp", "--driver", DRIVER]}, "the client has no SKIFF_DRIVER"
    assert err.splitlines()[-1].startswith("skiff: for "), err
    assert server_in(client, skiff("mcp", "config", client, env={"SKIFF_DRIVER": ""})[0])["args"] == ["mcp"]
    skiff.command = [*skiff.command[:-1], server["command"]]
    told = Stdio(skiff, words=server["args"])
    assert told.begin()["serverInfo"]["name"] == "skiffd"
    told.end()


@pytest.mark.parametrize("client", CLIENTS)
def test_flags_are_passed_on_with_absolute_paths(skiff, client):
    (skiff.work / "variables").write_text("A=1\n")
    flags = ["--driver", "box", "--mount", ".:ro", "--env", "A=1", "-e", "B=2 \"3\"", "--env-file", "variables", "--idle-ttl", "90s", "-q"]
    out, err = skiff("mcp", "config", client, *flags)
    assert err == ""
    assert server_in(client, out)["args"] == [
        "mcp", "--env", "A=1", "--env", "B=2 \"3\"", "--env-file", str(skiff.work / "variables"), "--mount", f"{skiff.work}:ro",
        "--idle-ttl", "90s", "--driver", "box", "--quiet"]
    out, _ = skiff("mcp", "config", client, "--driver", "pod", "--image", "python:3.12", "--mount", "../work/sub")
    assert server_in(client, out)["args"] == ["mcp", "--image", "python:3.12", "--mount", str(skiff.work / "sub"), "--driver", "pod"]


def test_local_is_written_where_it_is_named_and_says_what_it_is(skiff):
    out, err = skiff("mcp", "config", "cursor", "--driver", "local")
    assert server_in("cursor", out)["args"] == ["mcp", "--driver", "local"]
    assert "the local driver does not isolate" in err


@pytest.mark.parametrize("words, said", [(["emacs"], "emacs"), ([], "CLIENT is missing"), (["cursor", "--ttl", "x"], "--ttl"),
                                         (["cursor", "--env", "SKIFF_TOKEN=x"], "SKIFF_TOKEN")], ids=str)
def test_what_cannot_be_written_is_refused(skiff, words, said):
    out, err = skiff("mcp", "config", *words, status=125)
    assert out == "" and said in err
    if words == ["emacs"]:
        assert all(client in err for client in CLIENTS)


def test_help_lists_the_clients_and_completion_offers_them(skiff):
    help_text = skiff("mcp", "config", "--help")[0]
    offered = skiff("__complete", "--", "mcp", "config", "")[0]
    for client in CLIENTS:
        assert client in help_text and client in offered


def test_an_empty_configuration_can_be_made_of_them(skiff):
    """As the help says for Codex."""
    file = skiff.home / "config.toml"
    file.write_text('model = "x"\n')
    line = f'{skiff.program} mcp config codex -q >> {file}'
    subprocess.run(["sh", "-c", line], env=skiff.environment(), cwd=skiff.work, check=True, timeout=60)
    assert tomllib.loads(file.read_text())["mcp_servers"]["sandbox"]["command"] == skiff.program
