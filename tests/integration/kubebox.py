"""A client that speaks kubebox to a real skiffd: its REST routes, and Socket.IO frame by frame."""

import itertools
import json
import socket

import pytest

from dialect import Door
from sockets import RawWs

PATH = "/socket.io/?transport=websocket&EIO=4"


class Kubebox(Door):
    """A client with the session `s`, whose files and commands are in `ws`."""

    def __init__(self, agent, path="ws"):
        super().__init__(agent)
        self.post("initialize", session_id="s", path=path)

    def ask(self, route, **fields):
        return self.request("POST", f"/{route}", json=fields, timeout=60)

    def post(self, route, status=200, **fields):
        answer = self.ask(route, **fields)
        assert answer.status == status, answer
        return answer.json()

    def get(self, route, status=200, **fields):
        answer = self.request("GET", route_with(route, fields))
        assert answer.status == status, answer
        return answer.json()

    def run(self, command, session="s", **fields):
        return self.post("run_command", session_id=session, command=command, **{"mode": "wait", "timeout": 60, **fields})

    def start(self, command, mode="stream", session="s", **fields):
        return self.post("run_command", session_id=session, command=command, mode=mode, **fields)["process_id"]

    def socket(self, **options):
        return SocketIo(self, **options)

    def sockets(self):
        """How many are open, as the agent sees it."""
        text = self.agent.request("GET", "/metrics").text
        return int(next(line.split()[1] for line in text.splitlines() if line.startswith("skiff_websockets ")))


def route_with(route, fields):
    from urllib.parse import urlencode
    return f"/{route}?{urlencode(fields, doseq=True)}"


class SocketIo:
    """A client of Socket.IO. `acks`: acknowledges events, as the Python client does. Use it in a `with`."""

    def __init__(self, door, acks=True, pongs=True, connect=True):
        self.acks, self.pongs = acks, pongs
        self.ws = RawWs(door.connect(), PATH, {"Host": door.host})
        self.handshake = self.frame()
        assert self.handshake.startswith("0{")
        if connect:
            self.send("40")
            assert self.frame().startswith('40{"sid":"')

    def send(self, text):
        self.ws.send(1, text.encode())

    def event(self, name, id="", **data):
        self.send(f"42{id}{json.dumps([name, data])}")

    def frame(self):
        """The next frame that is not a ping."""
        while True:
            got = self.ws.recv()
            assert got is not None and got[0] == 1, got
            if got[1] != b"2":
                return got[1].decode()
            if self.pongs:
                self.send("3")

    def next(self):
        """(name, data) of the next event, which is acknowledged."""
        text = self.frame()
        assert text.startswith("42"), text
        id = "".join(itertools.takewhile(str.isdigit, text[2:]))
        if id and self.acks:
            self.send(f"43{id}[]")
        return tuple(json.loads(text[2 + len(id):]))

    def follow(self, process, session="s"):
        self.event("start_command_stream", session_id=session, process_id=process)

    def until_exits(self, *processes):
        """Everything up to the exits of these: {process: [data, ...]}."""
        seen = {process: [] for process in processes}
        left = set(processes)
        while left:
            name, data = self.next()
            process = data["process_id"]
            assert name in ("command_output", "command_exit"), (name, data)
            assert process in left, "after its exit"
            seen[process].append(data)
            if name == "command_exit":
                left.remove(process)
        return seen

    def output(self, process):
        """(stdout, stderr, exit code) of one process."""
        self.follow(process)
        return joined(self.until_exits(process)[process])

    def break_off(self):
        """Closes the connection without a goodbye."""
        self.ws.sock.shutdown(socket.SHUT_RDWR)
        self.ws.close()

    def close(self):
        self.ws.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def joined(events):
    *output, end = events
    return (*("".join(one["output"] for one in output if one["type"] == kind) for kind in ("stdout", "stderr")), end["exit_code"])


@pytest.fixture
def start_kubebox(start_agent):
    return lambda *arguments, **options: Kubebox(start_agent("--dialect", "kubebox=127.0.0.1:0", *arguments, **options))


@pytest.fixture
def box(start_kubebox):
    return start_kubebox()
