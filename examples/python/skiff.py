#!/usr/bin/env python3
"""A client of skiffd in one file, with the standard library of Python 3.10 alone.

    export SKIFF_URL=http://127.0.0.1:7070 SKIFF_TOKEN=...
    skiff.py run COMMAND              its output when it has ended; ends with its exit status
    skiff.py stream COMMAND           its output as it comes; resumes after a broken connection
    skiff.py put LOCAL REMOTE         writes a file, all of it or nothing
    skiff.py get REMOTE LOCAL
    skiff.py edit REMOTE OLD NEW      replaces OLD, which must be there once; prints the diff
    skiff.py grep PATTERN [DIRECTORY] PATH:LINE:TEXT; ends with 1 if there is none
    skiff.py shell                    a terminal
"""

import base64
import contextlib
import http.client
import json
import os
import secrets
import signal
import sys
import termios
import threading
import time
import tty
import urllib.parse

FAILED = 125  # the exit status of what is no command's own, as docker has it


class Refused(Exception):
    """What the agent answered: `code` is a stable word (`path_escapes_root`), the text is for people."""

    def __init__(self, status, problem):
        super().__init__(f"{problem.get('detail') or problem.get('title')} [{problem.get('code', status)}]")
        self.status, self.code = status, problem.get("code")


class Skiff:
    def __init__(self, url, token, session="default"):
        self.address, self.token, self.base = urllib.parse.urlsplit(url), token, f"/v1/sessions/{session}"

    def open(self, method, path, body=None, headers=()):
        """One request on a connection of its own: the answer, not yet read. Raises Refused, OSError, HTTPException."""
        kind = http.client.HTTPSConnection if self.address.scheme == "https" else http.client.HTTPConnection
        connection = kind(self.address.netloc, timeout=60)  # a silent stream says something each 15 s
        headers = {"Authorization": f"Bearer {self.token}", **dict(headers)}
        if isinstance(body, dict):
            body, headers["Content-Type"] = json.dumps(body), "application/json"
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # refused before all of the body was sent
            connection.request(method, path, body, headers)
        answer = connection.getresponse()
        if answer.status >= 400:
            text, is_problem = answer.read(), answer.headers.get_content_type() == "application/problem+json"
            raise Refused(answer.status, json.loads(text) if is_problem else {"title": text.decode(errors="replace")})
        return answer

    def run(self, command, **fields):
        """Waits until it has ended: {exit_code, signal, stdout, stderr, ...}. It ends with the connection."""
        fields = {"command": command, "on_disconnect": "kill", **fields}
        return json.load(self.open("POST", f"{self.base}/commands", fields))

    def stream(self, command, **fields):
        """Its events as they happen. The id is ours, so it is started once however often it is asked for, and whatever
        happens to the connection, its log is read on from behind the last event that came."""
        fields = {"id": "c-" + secrets.token_hex(8), "command": command, "mode": "stream", **fields}
        start, following, failures = f"{self.base}/commands", None, 0
        log = f"{start}/{fields['id']}/output?follow=true&lossless=true"
        while True:
            try:
                again = following is not None
                answer = self.open("GET", f"{log}&from={following}") if again else self.open("POST", start, fields)
                for line in answer:
                    event = json.loads(line)
                    following, failures = event.get("next", following or 0), 0
                    yield event
                    if event["type"] == "exit":
                        return
                raise ConnectionError("the stream ended before the command did")
            except (OSError, http.client.HTTPException, json.JSONDecodeError):  # the last: a line that was cut
                failures += 1
                if failures > 8:
                    raise
                time.sleep(0.05 * 2 ** (failures - 1))

    def signal(self, command_id, name):
        self.open("POST", f"{self.base}/commands/{command_id}/signal", {"signal": name})

    def file(self, path):
        return f"{self.base}/files/{urllib.parse.quote(path, safe='')}"  # with %2F even `../x` arrives as it is

    def put(self, path, body):
        self.open("PUT", self.file(path), body, {"Content-Length": os.fstat(body.fileno()).st_size})

    def get(self, path):
        answer = self.open("GET", self.file(path))
        while piece := answer.read(1 << 18):
            yield piece
        if answer.length:
            raise ConnectionError(f"cut short: {answer.length} bytes are missing")

    def edit(self, path, old, new):
        """The change as a unified diff."""
        return json.load(self.open("PATCH", self.file(path), {"edits": [{"old": old, "new": new}]}))["diff"]

    def grep(self, pattern, path="."):
        lines = self.open("GET", f"{self.base}/files:grep?{urllib.parse.urlencode({'pattern': pattern, 'path': path})}")
        return (found for found in map(json.loads, lines) if "line_number" in found)


def terminal(client):
    """What is typed goes to a shell, what it prints comes here, until it ends: no WebSocket is needed for that."""
    before = termios.tcgetattr(0) if os.isatty(0) else None

    def size():
        cols, rows = os.get_terminal_size(0) if before else (0, 0)
        return {"cols": cols or 80, "rows": rows or 24}  # a terminal may not know its size

    command = f"{client.base}/commands/shell-{secrets.token_hex(8)}"

    def pass_on():
        with contextlib.suppress(Refused):  # it has ended meanwhile
            while typed := os.read(0, 4096):
                client.open("POST", f"{command}/stdin", typed)
            client.open("POST", f"{command}/stdin", b"\x04")  # Ctrl-D

    try:
        shell = "exec $SHELL -i" if before else "exec sh -i"  # an editor of lines may lose what is typed before it begins
        for event in client.stream(shell, id=command.split("/")[-1], tty=size(), stdin_open=True, on_disconnect="kill"):
            if event["type"] == "started":
                threading.Thread(target=pass_on, daemon=True).start()
                if before:
                    signal.signal(signal.SIGWINCH, lambda *_: client.open("POST", f"{command}/resize", size()))
                    tty.setraw(0)
            elif event["type"] == "output":
                show(sys.stdout, bytes_of(event, "data"))
    finally:
        if before:
            termios.tcsetattr(0, termios.TCSADRAIN, before)
    return event


def show(sink, data):
    sink.buffer.write(data)
    sink.flush()


def bytes_of(holder, name):
    """Text, or base64 where it isn't UTF-8."""
    return base64.b64decode(holder[name + "_base64"]) if name + "_base64" in holder else holder[name].encode()


def main(arguments):
    if arguments and not os.environ.get("SKIFF_TOKEN"):
        print("skiff: SKIFF_TOKEN is not set: `make run` prints the line that sets it", file=sys.stderr)
        return FAILED
    client, result = Skiff(os.environ.get("SKIFF_URL", "http://127.0.0.1:7070"), os.environ.get("SKIFF_TOKEN", "")), None
    match arguments:
        case ["run", command]:
            result = client.run(command)
            show(sys.stdout, bytes_of(result, "stdout"))
            show(sys.stderr, bytes_of(result, "stderr"))
        case ["stream", command]:
            for result in client.stream(command):
                if result["type"] == "started":  # Ctrl-C is the command's
                    signal.signal(signal.SIGINT, lambda *_, id=result["id"]: client.signal(id, "SIGINT"))
                elif result["type"] == "output":
                    show(sys.stdout if result["stream"] == "stdout" else sys.stderr, bytes_of(result, "data"))
                elif result["type"] == "gap":
                    print(f"skiff: {result['to'] - result['from']} bytes were dropped", file=sys.stderr)
        case ["put", local, remote]:
            with open(local, "rb") as file:
                client.put(remote, file)
        case ["get", remote, local]:
            pieces = client.get(remote)
            with open(local, "wb") as file:
                file.writelines(pieces)
        case ["edit", remote, old, new]:
            print(client.edit(remote, old, new), end="")
        case ["grep", pattern, *folder] if len(folder) < 2:
            found = 0
            for found, at in enumerate(client.grep(pattern, *folder), 1):
                show(sys.stdout, f"{at['path']}:{at['line_number']}:".encode() + bytes_of(at, "text") + b"\n")
            return 0 if found else 1
        case ["shell"]:
            result = terminal(client)
        case _:
            print(__doc__, file=sys.stderr)
            return FAILED
    if result:
        return result["exit_code"] if result["exit_code"] is not None else 128 + signal.Signals[result["signal"]]


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (Refused, OSError, http.client.HTTPException) as error:
        print(f"skiff: {error}", file=sys.stderr)
        sys.exit(FAILED)
