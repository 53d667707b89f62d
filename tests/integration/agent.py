"""A real skiffd: started on a free port in its own directory, spoken to, and shown to leave nothing behind."""

import http.client
import json as jsonlib
import os
import re
import secrets
import select
import shlex
import signal
import socket
import subprocess
import time

import proc
from sockets import RawWs, Ws
from waiting import until
from wire import Answer, Stream, request_bytes

STOP_SECONDS = 15.0


def binary():
    path = os.environ.get("SKIFFD")
    assert path, "SKIFFD must be the path of the skiffd to test"
    return path


def command_line(*arguments):
    """The command line of skiffd, behind the launcher that SKIFFD_WRAPPER names (such as a seccomp filter)."""
    return [*shlex.split(os.environ.get("SKIFFD_WRAPPER", "")), binary(), *map(str, arguments)]


def environment(**more):
    """This process's environment without SKIFF*, and with `more`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SKIFF")}
    return {**kept, **{name: str(value) for name, value in more.items()}}


class Agent:
    def __init__(self, folder, *arguments, token=None, listen="127.0.0.1:0", env=None, credential=True, warm=True,
                 tls=None, tokens=(), wrapper=(), **popen):
        """Starts it and waits for its line on stdout. `credential=False`: the arguments bring their own, and nothing is
        asked over HTTP at the end. `tokens`: further lines of the token file. `warm=False`: no first command, so not
        everything is opened yet. `tls`: an SSLContext to speak to it with. `wrapper`: words before its command line,
        which starts in `folder`."""
        self.folder = folder
        # A home of its own: login shells read what is there, and a person's dotfiles may wait for a minute for a lock.
        self.root, self.temp, self.home = folder / "root", folder / "tmp", folder / "agent-home"
        for directory in (self.root, self.temp, self.home):
            directory.mkdir(exist_ok=True)
        self.mark = "itest-" + secrets.token_hex(8)
        self.token = token or secrets.token_hex(16)
        self.credential, self.tls = credential, tls
        self.baseline = None
        options = []
        if credential:
            file = folder / "token"
            file.write_text("".join(line + "\n" for line in (self.token, *tokens)))
            file.chmod(0o600)
            options = ["--token-file", file]
        self.stderr_path = folder / f"stderr-{self.mark}"
        with open(self.stderr_path, "wb") as stderr:
            self.process = subprocess.Popen(
                [*wrapper, *command_line("--listen", listen, "--root", self.root, *options, *arguments)], cwd=folder,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr,
                env=environment(**{"ITEST_MARK": self.mark, "TMPDIR": self.temp, "HOME": self.home, **(env or {})}), **popen)
        self.pid = self.process.pid
        try:
            self.line = self.next_line()
            self.address = re.fullmatch(r"skiffd listening on (\S+)", self.line).group(1)
            self.url = self.address
            self.port = int(self.url.rsplit(":", 1)[1]) if self.url.startswith("http") else None
            self.host = self.url.partition("://")[2] if self.port else "localhost"
            self.ip = self.host.rpartition(":")[0].strip("[]")
            self.unix_path = listen.removeprefix("unix:") if listen.startswith("unix:") else None
            if credential and warm:
                self._warm_up()
        except BaseException:
            self.process.kill()
            self.process.wait()
            print(self.log()[-4000:])
            raise

    def next_line(self, seconds=20.0):
        """The next line of its stdout."""
        deadline = time.monotonic() + seconds
        line = b""
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"no line on stdout within {seconds} s; stderr: {self.log()}"
            piece = os.read(self.process.stdout.fileno(), 1)  # what a workload prints is for the test
            assert piece, f"ended with {self.process.wait()} before it listened; stderr: {self.log()}"
            line += piece
        return line.decode().splitlines()[0]

    def _warm_up(self):
        """One command and one look at a directory, then count descriptors: what is opened once and kept is not a leak."""
        self.request("GET", "/v1/files:list?limit=1")
        done = self.request("POST", "/v1/commands", json={"argv": ["true"], "id": "warm-up"})
        if done.status == 200:
            self.request("DELETE", "/v1/commands/warm-up")
        if not proc.descriptors(self.pid):
            return  # only root may look at those of a process that can't be traced
        counts = []
        for _ in range(3):
            counts.append(self.descriptor_count())
            time.sleep(0.005)
        self.baseline = min(counts)

    # --- talking to it ---

    def connect(self, timeout=30.0):
        """A socket to it, with a deadline on every operation."""
        if self.unix_path:
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(timeout)
            sock.connect(self.unix_path)
            return sock
        sock = socket.create_connection((self.ip, self.port), timeout)
        return self.tls.wrap_socket(sock, server_hostname="127.0.0.1") if self.tls else sock

    raw = connect

    def headers(self, headers=None, token=None):
        """Host and credential, then `headers`; a value None removes one."""
        given = {"Host": self.host, "Authorization": f"Bearer {token or self.token}", **(headers or {})}
        return {name: value for name, value in given.items() if value is not None}

    def request(self, method, path, json=None, body=None, headers=None, token=None, timeout=30.0):
        """One request on a connection of its own."""
        headers = self.headers(headers, token)
        if json is not None:
            body = jsonlib.dumps(json).encode()
            headers.setdefault("Content-Type", "application/json")
        client = http.client.HTTPConnection("127.0.0.1", timeout=timeout)
        client.sock = self.connect(timeout)
        try:
            client.request(method, path, body=body, headers=headers)
            response = client.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            client.close()

    def stream(self, method, path, json=None, body=b"", headers=None, token=None, version="1.1", timeout=30.0):
        """As `request`, but the answer is read while it comes, and has trailers."""
        headers = self.headers(headers, token)
        if json is not None:
            body = jsonlib.dumps(json).encode()
            headers.setdefault("Content-Type", "application/json")
        if body or method in ("POST", "PUT", "PATCH"):
            headers.setdefault("Content-Length", str(len(body)))
        sock = self.connect(timeout)
        sock.sendall(request_bytes(method, path, headers, body, version))
        return Stream(sock, method)

    def exchange(self, data, timeout=30.0):
        """Sends bytes as they are, and returns everything up to the end of the connection."""
        with self.connect(timeout) as sock:
            try:
                sock.sendall(data)
            except (BrokenPipeError, ConnectionResetError):
                pass  # it may refuse before it has read everything
            received = []
            try:
                while piece := sock.recv(65536):
                    received.append(piece)
            except ConnectionResetError:
                pass
            return b"".join(received)

    def ws(self, path, subprotocol=None, headers=None, token=None):
        given = {name: value for name, value in self.headers(headers, token).items() if name != "Host"}
        protocols = [subprotocol] if isinstance(subprotocol, str) else subprotocol
        return Ws(f"{'wss' if self.tls else 'ws'}://{self.host}{path}", protocols, given, ssl=self.tls)

    def raw_ws(self, path, headers=None):
        return RawWs(self.connect(), path, self.headers(headers))

    # --- the commands of the tests ---

    def run(self, command=None, session="default", **fields):
        """Runs a command to its end in mode `wait`; the result."""
        body = {**({"command": command} if command is not None else {}), **fields}
        answer = self.request("POST", f"/v1/sessions/{session}/commands", json=body)
        assert answer.status == 200, answer
        return answer.json()

    def start(self, command=None, session="default", **fields):
        """Starts a command in mode `background`; what the 202 says."""
        body = {**({"command": command} if command is not None else {}), "mode": "background", **fields}
        answer = self.request("POST", f"/v1/sessions/{session}/commands", json=body)
        assert answer.status == 202, answer
        return answer.json()

    def ended(self, cid, session="default", seconds=30):
        """Waits for a command's end; what `show` says then."""
        path = f"/v1/sessions/{session}/commands/{cid}?wait_ms=2000"

        def shown():
            answer = self.request("GET", path)
            assert answer.status == 200, answer
            return answer.json() if answer.json()["state"] == "ended" else None

        return until(shown, seconds, f"end of command {cid}")

    def output(self, cid, session="default", **fields):
        """The events of `output?follow=true` up to `exit` (or what `fields` say)."""
        fields = {"follow": "true", **fields}
        text = "&".join(f"{name.rstrip('_')}={value}" for name, value in fields.items())
        with self.stream("GET", f"/v1/sessions/{session}/commands/{cid}/output?{text}") as stream:
            assert stream.status == 200, stream.answer()
            return list(stream.events())

    def session(self, **fields):
        answer = self.request("POST", "/v1/sessions", json=fields)
        assert answer.status == 201, answer
        return answer.json()["id"]

    # --- its end ---

    def log(self):
        return self.stderr_path.read_text(errors="replace") if self.stderr_path.exists() else ""

    def running(self):
        return self.process.poll() is None

    def terminate(self, seconds=STOP_SECONDS):
        """SIGTERM; the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def strays(self):
        """Live processes that came from this agent."""
        return proc.belonging(self.mark, self.folder, but=(self.pid,))

    def descriptor_count(self):
        return len(proc.descriptors(self.pid))

    def _delete_everything(self):
        for kept in ("commands", "sessions"):
            listed = self.request("GET", f"/v1/{kept}?limit=1000")
            assert listed.status == 200, listed
            for item in listed.json()["items"]:
                if item["id"] != "default" or kept == "commands":
                    self.request("DELETE", f"/v1/{kept}/{item['id']}")

    def _check_nothing_is_left(self):
        assert self.request("GET", "/healthz").status == 200
        self._delete_everything()
        until(lambda: not self.strays(), what=f"processes that are left: {self.strays()}")
        until(lambda: not proc.children(self.pid), what=f"children or zombies: {proc.children(self.pid)}")
        if self.baseline is not None:
            until(lambda: self.descriptor_count() <= self.baseline, 10,
                  f"{self.baseline} descriptors at first, now {sorted(proc.descriptors(self.pid).items())}")
        assert proc.threads(self.pid) <= 64

    def finish(self):
        """Proves that nothing is left, then that SIGTERM ends it with the status that says so. Always ends it."""
        try:
            if self.running() and self.credential:
                self._check_nothing_is_left()
            if self.running():
                status = self.terminate()
                assert status == 143, f"exit status {status} after SIGTERM"
            if self.process.returncode in (0, 143):
                until(lambda: not self.strays(), what=f"processes after the end: {self.strays()}")
                assert not list(self.temp.rglob("*")), "temporary files are left"
            log = self.log()
            assert self.token not in log, "the token is in the log"
            for word in ("AddressSanitizer", "ThreadSanitizer", "LeakSanitizer", "runtime error:", "terminate called",
                         "a turn of the reactor"):
                assert word not in log, log[-6000:]
        finally:
            self.end()

    def end(self):
        """Whatever it does, and without a look at what it leaves."""
        if self.running():
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        for pid in self.strays():
            os.kill(pid, signal.SIGKILL)
        print(self.log()[-4000:])
