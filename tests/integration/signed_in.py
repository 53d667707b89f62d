"""A browser at `skiff serve --console`, and requests of its page as it sends them."""

import http.client
import json
import urllib.parse

import pytest

from serving import Answer
from sockets import Ws

# As Chromium sends it for what is typed into the address bar.
TYPED = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "Sec_Fetch_Site": "none", "Sec_Fetch_Dest": "document",
         "Sec_Fetch_Mode": "navigate"}
SUBPROTOCOL = "skiff.v1.binary"


def serve_console(serving, *arguments):
    try:
        return serving.start("--console", *arguments)
    except AssertionError as error:
        if "built without the console" in str(error):
            pytest.skip("skiff was built without the page: make console")
        raise


class Browser:
    """With `at`, a proxy in front has ended TLS for this host; without, the browser is on the server's machine."""

    def __init__(self, server, at=None):
        self.server, self.cookie = server, None
        self.host = at or server.host
        self.origin = f"https://{at}" if at else f"http://{server.host}"
        self.proxy = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.7"} if at else {}

    def ask(self, method, path, body=None, **headers):
        """Names of header fields have _ for -."""
        fields = {"Host": self.host, **self.proxy}
        fields.update({name.replace("_", "-"): value for name, value in headers.items()})
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            fields.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection(self.server.host, timeout=60)
        try:
            connection.request(method, path, body, {name: value for name, value in fields.items() if value is not None})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def open(self, path="/", **headers):
        return self.ask("GET", path, **{**TYPED, "Cookie": self.cookie, **headers})

    def post_form(self, key, **headers):
        form = key if isinstance(key, bytes) else urllib.parse.urlencode({"key": key}).encode()
        return self.ask("POST", "/sign-in", form, **{
            **TYPED, "Content_Type": "application/x-www-form-urlencoded", "Origin": self.origin, "Sec_Fetch_Site": "same-origin",
            "Cookie": self.cookie, **headers})

    def sign_in(self, key):
        answer = self.post_form(key)
        assert (answer.status, answer.headers["Location"]) == (303, "/"), answer.body
        self.cookie = answer.headers["Set-Cookie"].split(";")[0]
        return self

    def script(self, method, path, body=None, **headers):
        origin = self.origin if method != "GET" else None
        return self.ask(method, path, body, **{"Cookie": self.cookie, "Sec_Fetch_Site": "same-origin", "Sec_Fetch_Dest": "empty",
                                              "Sec_Fetch_Mode": "cors", "Origin": origin, **headers})

    def socket(self, path, **headers):
        fields = {"Origin": self.origin, "Cookie": self.cookie, "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "websocket",
                  **{name.replace("_", "-"): value for name, value in headers.items()}}
        return Ws(f"ws://{self.server.host}{path}", [SUBPROTOCOL], {name: value for name, value in fields.items() if value is not None})


def is_form(answer):
    page = answer.body.decode()
    assert "e2b_" + "0" * 8 not in page
    return answer.headers["Content-Type"] == "text/html; charset=utf-8" and '<form method="post" action="/sign-in">' in page


def is_page(answer):
    return answer.status == 200 and "script-src 'self'" in answer.headers["Content-Security-Policy"]
