"""A real `skiff serve`, by default with the local driver, and requests to it."""

import http.client
import json
import signal
import urllib.parse

from launcher import Skiff


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    def json(self):
        return json.loads(self.body)


class Server:
    """One process; `stop` asks it to end and waits."""

    def __init__(self, skiff, *arguments, driver="local"):
        self.log = open(skiff.work / f"serve-{id(self)}.log", "w+b")
        self.process = skiff.start("serve", "--driver", driver, "--listen", "127.0.0.1:0", *arguments, stderr=self.log)
        line = self.process.stdout.readline().decode()
        assert line.startswith("skiff serves on http://"), (line, self.told())
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
        self.servers = []

    def key(self, name="me", *arguments):
        return self.skiff("key", "create", name, "--driver", "local", *arguments)[0].strip()

    def start(self, *arguments):
        server = Server(self.skiff, *arguments)
        self.servers.append(server)
        return server

    def finish(self):
        statuses = [server.stop() for server in self.servers if server.process.poll() is None]
        for server in self.servers:
            server.log.close()
        self.skiff.finish()
        assert all(status == 0 for status in statuses), statuses
