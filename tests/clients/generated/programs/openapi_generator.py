"""Uses the client that openapi-generator's `python` generates (the package `skiff`). Prints what test_generated_clients.py expects."""

import json
import os

import skiff

client = skiff.ApiClient(skiff.Configuration(host=os.environ["SKIFF_URL"], access_token=os.environ["SKIFF_TOKEN"]))
commands, files, sessions = skiff.CommandsApi(client), skiff.FilesApi(client), skiff.SessionsApi(client)


def background(command, id_, **more):
    return commands.start_command("default", skiff.CommandRequest(command=command, id=id_, mode=skiff.CommandMode.BACKGROUND, **more))


def follow(id_):
    """Each event when it comes."""
    response = commands.read_output_without_preload_content("default", id_, follow=True)
    for line in response:
        if line.strip():
            yield skiff.Event.from_json(line)


done = commands.start_command("default", skiff.CommandRequest(command="echo out; echo err >&2; exit 3"))
print("wait", done.stdout.strip(), done.stderr.strip(), done.exit_code)

print("background", background("exec cat", "cat", stdin_open=True).state.value)
commands.write_stdin("default", "cat", body=b"hello world", eof=True)
print("stdin", commands.show_command("default", "cat", wait_ms=30000).exit_code)
events = [skiff.Event.from_json(line) for line in commands.read_output("default", "cat", var_from=6).splitlines()]
print("output", "".join(event.data for event in events if event.type == skiff.EventType.OUTPUT))

background("echo one; until [ -e go ]; do sleep 0.02; done; echo two", "live")
text = ""
for event in follow("live"):
    if event.type == skiff.EventType.OUTPUT:
        text += event.data.replace("\n", " ")
        files.write_file("default", "go", body=b"")
    elif event.type == skiff.EventType.EXIT:
        text += f"exit {event.exit_code}"
print("stream", text)

background("exec sleep 600", "asleep")
commands.signal_command("default", "asleep", skiff.SignalRequest(signal="TERM"))
print("signal", commands.show_command("default", "asleep", wait_ms=30000).signal)

sessions.create_session(skiff.SessionRequest(id="other", env={"A": "value"}))
print("session", commands.start_command("other", skiff.CommandRequest(command="echo $A")).stdout.strip(),
      sessions.delete_session_with_http_info("other").status_code)

data = bytes(range(256))
entry = files.write_file("default", "dir/a b.bin", body=data)
print("file", entry.size, files.read_file("default", "dir/a b.bin") == data)
print("found", json.loads(files.glob_files("default", "dir/*").splitlines()[0])["path"])

# Without the header it asks for events.
script = skiff.FrontDoorApi(client).run_script(b"echo one; echo two", _headers={"Accept": "application/octet-stream"})
print("script", script.decode().replace("\n", " ").strip())
try:
    sessions.show_session("nope")
except skiff.ApiException as error:
    problem = skiff.Problem.from_json(error.body)
    print("error", problem.status, problem.code)
