"""A running `skiff console`, and requests to it as a browser sends them."""

import http.client
import json
import signal
import urllib.parse

import pytest

from serving import Answer


class Console:
    def __init__(self, skiff, *words, env=None):
        self.process = skiff.start("console", *words, env=env)
        line = self.process.stdout.readline().decode()
        if not line:
            told = self.process.stderr.read().decode()
            self.stop()
            if "built without the console" in told:
                pytest.skip("skiff was built without the page: make console")
            raise AssertionError(told)
        self.link = line.strip()
        parts = urllib.parse.urlsplit(self.link)
        self.host, self.name, self.port = parts.netloc, parts.hostname, parts.port
        self.opening = f"{parts.path}?{parts.query}"
        self.cookie = None

    def ask(self, method, path, body=None, **headers):
        """Names of header fields have _ for -. `Host` is the console's own, unless it is given."""
        fields = {"Host": self.host, **{name.replace("_", "-"): value for name, value in headers.items() if value is not None}}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            fields.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, fields)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def open(self):
        answer = self.ask("GET", self.opening)
        assert answer.status == 303, answer.body
        self.cookie = answer.headers["Set-Cookie"].split(";")[0]
        return answer

    def script(self, method, path, body=None, **headers):
        """A request of the page's script, by default with the cookie."""
        origin = f"http://{self.host}" if method != "GET" else None
        return self.ask(method, path, body, **{"Cookie": self.cookie, "Sec_Fetch_Site": "same-origin", "Sec_Fetch_Dest": "empty",
                                              "Sec_Fetch_Mode": "cors", "Origin": origin, **headers})

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        status = self.process.wait(60)
        self.process.stdout.close()
        self.process.stderr.close()
        return status
