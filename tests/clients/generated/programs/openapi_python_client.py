"""Uses the client that openapi-python-client generates (the package `skiff_client`). Prints what test_generated_clients.py expects."""

import io
import json
import os

from skiff_client import AuthenticatedClient
from skiff_client.api.commands import read_output, show_command, signal_command, start_command, write_stdin
from skiff_client.api.files import glob_files, read_file, write_file
from skiff_client.api.front_door import run_script
from skiff_client.api.sessions import create_session, delete_session, show_session
from skiff_client.models import CommandMode, CommandRequest, Event, EventType, SessionRequest, SessionRequestEnv, SignalRequest
from skiff_client.types import File

client = AuthenticatedClient(base_url=os.environ["SKIFF_URL"], token=os.environ["SKIFF_TOKEN"], timeout=60, raise_on_unexpected_status=True)


def background(command, id_, **more):
    return start_command.sync("default", client=client, body=CommandRequest(command=command, id=id_, mode=CommandMode.BACKGROUND, **more))


def put(path, data):
    return write_file.sync("default", path, client=client, body=File(io.BytesIO(data)))


def follow(id_):
    """Each event when it comes."""
    request = read_output._get_kwargs("default", id_, follow=True)
    with client.get_httpx_client().stream(**request) as response:
        for line in response.iter_lines():
            yield Event.from_dict(json.loads(line))


done = start_command.sync("default", client=client, body=CommandRequest(command="echo out; echo err >&2; exit 3"))
print("wait", done.stdout.strip(), done.stderr.strip(), done.exit_code)

print("background", background("exec cat", "cat", stdin_open=True).state)
write_stdin.sync_detailed("default", "cat", client=client, body=File(io.BytesIO(b"hello world")), eof=True)
print("stdin", show_command.sync("default", "cat", client=client, wait_ms=30000).exit_code)
lines = read_output.sync("default", "cat", client=client, from_=6).payload.read().splitlines()
events = [Event.from_dict(json.loads(line)) for line in lines]
print("output", "".join(event.data for event in events if event.type_ == EventType.OUTPUT))

background("echo one; until [ -e go ]; do sleep 0.02; done; echo two", "live")
text = ""
for event in follow("live"):
    if event.type_ == EventType.OUTPUT:
        text += event.data.replace("\n", " ")
        put("go", b"")
    elif event.type_ == EventType.EXIT:
        text += f"exit {event.exit_code}"
print("stream", text)

background("exec sleep 600", "asleep")
signal_command.sync_detailed("default", "asleep", client=client, body=SignalRequest(signal="TERM"))
print("signal", show_command.sync("default", "asleep", client=client, wait_ms=30000).signal)

create_session.sync(client=client, body=SessionRequest(id="other", env=SessionRequestEnv.from_dict({"A": "value"})))
print("session", start_command.sync("other", client=client, body=CommandRequest(command="echo $A")).stdout.strip(),
      delete_session.sync_detailed("other", client=client).status_code)

data = bytes(range(256))
entry = put("dir/a b.bin", data)
print("file", entry.size, read_file.sync("default", "dir/a b.bin", client=client).payload.read() == data)
found = glob_files.sync("default", client=client, pattern="dir/*").payload.read().splitlines()
print("found", json.loads(found[0])["path"])

script = run_script.sync(client=client, body=File(io.BytesIO(b"echo one; echo two"))).payload.read()
print("script", script.decode().replace("\n", " ").strip())
problem = show_session.sync("nope", client=client)
print("error", problem.status, problem.code)
