"""A real `skiff serve`, by default with the driver of the suite, and requests to it."""

import http.client
import json
import signal
import urllib.parse

from held_agent import HeldAgent
from launcher import DRIVER, Skiff
from upstream import Upstream


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    def json(self):
        return json.loads(self.body)


class Server:
    """One process; `stop` asks it to end and waits."""

    first_words = "skiff serves on http://"

    def __init__(self, skiff, *arguments, driver=DRIVER, listen="127.0.0.1:0"):
        self.log = open(skiff.work / f"serve-{id(self)}.log", "w+b")
        self.process = skiff.start("serve", "--driver", driver, "--listen", listen, *arguments, stderr=self.log)
        line = self.process.stdout.readline().decode()
        assert line.startswith(self.first_words), (line, self.told())
        self.url = line.split()[-1]
        self.host = urllib.parse.urlsplit(self.url).netloc

    def told(self):
        self.log.seek(0)
        return self.log.read().decode()

    def request(self, method, path, body=None, key=None, headers=None, timeout=60):
        headers = {**({"X-API-Key": key} if key else {}), **(headers or {})}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection(self.host, timeout=timeout)
        try:
            connection.request(method, path, body, headers)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def events(self, path, key, timeout=60):
        """(event, data) of a stream, as they come."""
        connection = http.client.HTTPConnection(self.host, timeout=timeout)
        try:
            connection.request("GET", path, headers={"X-API-Key": key})
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            assert answer.headers["Content-Type"] == "text/event-stream"
            event = None
            for line in answer:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "event":
                    event = value
                elif name == "data":
                    yield event, json.loads(value)
        finally:
            connection.close()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(60)
        self.process.stdout.close()
        self.log.close()
        return status


class Serving:
    """A home with keys, servers and sandboxes; nothing of it stays."""

    def __init__(self, folder):
        self.skiff = Skiff(folder)
        self.servers, self.agent = [], None

    def key(self, name="me", *arguments):
        return self.skiff("key", "create", name, "--driver", DRIVER, *arguments)[0].strip()

    def start(self, *arguments):
        server = Server(self.skiff, *arguments)
        self.servers.append(server)
        return server

    def upstream(self, sandbox, serve, port=0):
        """A server in this sandbox."""
        return Upstream(serve, port=port, process=self.skiff.network(sandbox))

    def hold_agents(self):
        """Agents don't start from now on before `let_agents_go`, or end at once after `let_agents_fail`."""
        if not self.agent:
            self.agent = HeldAgent(self.skiff.work / "programs")
            self.skiff.command[-1] = str(self.agent.skiff)
        self.agent.hold()

    def let_agents_go(self):
        self.agent.let_go()

    def let_agents_fail(self):
        self.agent.let_fail()

    def finish(self):
        statuses = [server.stop() for server in self.servers if server.process.poll() is None]
        for server in self.servers:
            server.log.close()
        self.skiff.finish()
        assert all(status == 0 for status in statuses), statuses


class ServedSkiff(Skiff):
    """A skiff that has an address and an API key alone. What it makes is beside the server, where the helpers look."""

    driver = None

    def __init__(self, folder, program=None):
        super().__init__(folder)
        self.command[-1] = str(program or self.program)
        self.laptop, self.variables = folder / "laptop", {}
        self.api_key = self("key", "create", "me", "--driver", DRIVER)[0].strip()
        self.server = Server(self)
        self.variables = {"SKIFF_URL": self.server.url, "SKIFF_API_KEY": self.api_key, "XDG_STATE_HOME": str(self.laptop)}

    def environment(self, **more):
        return super().environment(**{**self.variables, **more})

    def key(self, name, *arguments):
        """Another one of the same server."""
        return self("key", "create", name, "--driver", DRIVER, *arguments, env={"XDG_STATE_HOME": str(self.state)})[0].strip()

    def processes(self):
        return {pid: line for pid, line in super().processes().items() if pid != self.server.process.pid}

    def finish(self):
        self("rm", "--all", "--everyone", "-q")
        assert self.server.stop() == 0
        assert self.names() == [] and not self.laptop.exists()
        assert not self.processes()
