"""The port of a dialect: spoken to as its clients do, without a credential."""

import http.client
import json as jsonlib
import re
import socket

from wire import Answer


class Door:
    def __init__(self, agent):
        """The next address that the agent tells of: one that --dialect NAME=127.0.0.1:0 asked for."""
        self.agent = agent
        self.line = agent.next_line()
        self.port = int(re.fullmatch(r"skiffd speaks \S+ \(\S+\) on 127\.0\.0\.1:(\d+)", self.line).group(1))
        self.host = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.host}"

    def connect(self, timeout=30.0):
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def request(self, method, path, json=None, body=None, headers=None, timeout=30.0):
        """One request on a connection of its own; the path goes out as it is."""
        headers = dict(headers or {})
        if json is not None:
            body = jsonlib.dumps(json).encode()
            headers.setdefault("Content-Type", "application/json")
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            client.request(method, path, body=body, headers=headers)
            response = client.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            client.close()

    def exchange(self, data, shut=False, timeout=30.0):
        """Sends bytes as they are, and returns everything up to the end of the connection."""
        with self.connect(timeout) as sock:
            sock.sendall(data)
            if shut:
                sock.shutdown(socket.SHUT_WR)
            received = []
            while piece := sock.recv(65536):
                received.append(piece)
            return b"".join(received)
