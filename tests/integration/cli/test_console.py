"""`skiff console`: its link, its cookie, and what it refuses. tests/clients/console uses its page in a browser."""

import http.server
import json
import subprocess
import threading
import urllib.parse

import pytest

from consoles import Console
from launcher import Skiff
from serving import ServedSkiff


@pytest.fixture
def console(skiff):
    one = Console(skiff)
    yield one
    one.stop()


def test_the_link_works_once(console):
    answer = console.open()
    assert answer.headers["Location"] == "/"
    assert answer.headers["Set-Cookie"].endswith("; Path=/; HttpOnly; SameSite=Strict")
    again = console.ask("GET", console.opening, Accept="text/html")
    assert again.status == 401 and b"works only once" in again.body
    assert "Set-Cookie" not in again.headers
    assert console.script("GET", "/v1/me").status == 200


def test_head_does_not_spend_the_link(console):
    console.ask("HEAD", console.opening)
    console.open()


def test_a_wrong_link_does_not_spend_the_right_one(console):
    assert console.ask("GET", "/open?once=" + "0" * 64).status == 401
    assert console.ask("GET", "/open").status == 401
    console.open()


def test_it_opens_a_sandbox_that_it_is_given(skiff):
    skiff.up("demo")
    one = Console(skiff, "demo")
    try:
        assert one.open().headers["Location"] == "/#/sandboxes/demo"
    finally:
        one.stop()
    assert 'no sandbox "nothing"' in skiff("console", "nothing", status=125)[1]


def test_it_shows_and_steers_the_sandboxes_of_the_command_line(skiff, console):
    console.open()
    assert console.script("GET", "/v1/sandboxes").json()["items"] == []
    skiff.up("demo")
    skiff("up", "other", "-q", "--owner", "somebody")
    (shown,) = console.script("GET", "/v1/sandboxes").json()["items"]
    assert (shown["id"], shown["state"]) == ("demo", "running")
    labels = skiff.record("demo")["labels"]
    assert console.script("POST", "/v1/sandboxes/demo/stop", {}).json()["state"] == "stopped"
    # A page that looks at a sandbox does not start it.
    assert console.script("GET", "/s/demo/7070/v1/sessions/default/commands").status == 409
    assert skiff.json("describe", "demo")["state"] == "stopped"
    assert console.script("POST", "/v1/sandboxes/demo/start").json()["state"] == "running"
    assert skiff.record("demo")["labels"] == labels
    assert "expires_at" in console.script("POST", "/v1/sandboxes/demo/extend", {"ttl_ms": 3_600_000}).json()
    assert console.script("GET", "/s/demo/7070/v1/sessions/default/commands").json()["items"] == []
    assert console.script("DELETE", "/v1/sandboxes/demo").status == 204
    assert console.script("DELETE", "/v1/sandboxes/other").status == 404
    assert skiff.names() == ["other"]


def test_it_works_with_the_driver_serve(tmp_path):
    skiff = ServedSkiff(tmp_path)
    try:
        skiff.up("demo")
        one = Console(skiff)
        try:
            one.open()
            (shown,) = one.script("GET", "/v1/sandboxes").json()["items"]
            assert (shown["id"], shown["state"], shown["template"]) == ("demo", "running", "")
            started = one.script("POST", "/s/demo/7070/v1/sessions/default/commands", {"command": "echo hello", "mode": "wait"})
            assert started.json()["stdout"] == "hello\n"
            assert one.script("POST", "/v1/sandboxes/demo/stop", {}).json()["state"] == "stopped"
            assert one.script("POST", "/v1/sandboxes/demo/start").json()["state"] == "running"
            assert one.script("DELETE", "/v1/sandboxes/demo").status == 204
        finally:
            one.stop()
    finally:
        skiff.finish()


def test_a_request_needs_the_cookie(skiff, console):
    skiff.up("demo")
    for path in "/v1/me", "/v1/sandboxes", "/v1/events", "/s/demo/7070/v1/health":
        for cookie in None, "skiff-console=", "skiff-console=" + "0" * 64, "other=x":
            answer = console.script("GET", path, Cookie=cookie)
            assert (answer.status, answer.json()["code"]) == (401, "unauthenticated"), path
    console.open()
    ours = console.cookie
    assert console.script("GET", "/v1/me", Cookie=f"skiff-console=tossed; {ours}").status == 200


def test_a_cookie_ends_with_its_console(skiff, console):
    console.open()
    other = Console(skiff)
    try:
        assert other.script("GET", "/v1/me", Cookie=console.cookie).status == 401
    finally:
        assert other.stop() == 0


@pytest.mark.parametrize("headers", [
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},
    {"Sec_Fetch_Site": "same-site"},
    {"Sec_Fetch_Site": "cross-site"},
    {"Sec_Fetch_Site": "none"},
    {"Sec_Fetch_Dest": "document"},
    {"Sec_Fetch_Dest": "iframe"},
    {"Sec_Fetch_Dest": "script"},
    {"Sec_Fetch_Dest": "serviceworker"},
    {"Sec_Fetch_Dest": "image"},
    {"Sec_Fetch_Site": None, "Sec_Fetch_Dest": None},
], ids=str)
def test_only_the_own_pages_script_uses_the_cookie(skiff, console, headers):
    console.open()
    for path in "/v1/sandboxes", "/v1/events", "/s/demo/7070/v1/sessions/default/files/x.html":
        answer = console.script("GET", path, **headers)
        assert (answer.status, answer.json()["code"]) == (403, "origin_not_allowed")
    assert console.script("POST", "/v1/sandboxes/demo/stop", {}, **{"Origin": None, **headers}).status == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "other.localhost:{port}", "x.{name}:{port}", "127.0.0.2:{port}", ""])
def test_another_host_gets_nothing(console, host):
    host = host.format(port=console.port, name=console.name)
    for path in "/", "/console.js", console.opening, "/v1/me":
        answer = console.ask("GET", path, Host=host)
        assert answer.status in (400, 421), (path, answer.body)
    console.open()


def test_it_is_reached_through_a_tunnel(console):
    answer = console.ask("GET", console.opening, Host="localhost:8080")
    cookie = answer.headers["Set-Cookie"].split(";")[0]
    assert console.ask("GET", "/v1/me", Host="localhost:8080", Origin="http://localhost:8080", Cookie=cookie).status == 200


def test_other_credentials_lead_nowhere(skiff, console):
    """Neither an API key, nor an access token or a signature leads around the page, even where it is valid."""
    skiff.up("demo")
    skiff("key", "create", "me")
    for headers in {"X_API_Key": "e2b_" + "0" * 40}, {"Authorization": "Bearer x"}, {"X_Access_Token": "x"}:
        assert console.ask("GET", "/v1/sandboxes", **headers).status == 401
    assert console.ask("GET", "/s/demo/49983/files?path=/x&signature=v1_x").status == 404
    console.open()
    for path in ("/s/demo/49983/files", "/s/demo/3000/", "/s/demo/7070/v1/ports/3000/", "/s/demo/7070/v1%2Fports/3000/",
                 "/s/demo/7070/", "/s/demo/7070/v1/%70orts/3000/", "/sandboxes", "/metrics", "/openapi.json", "/mcp"):
        assert console.script("GET", path).status == 404, path
    # Fields that name a sandbox are left out.
    assert console.script("GET", "/v1/me", E2b_Sandbox_Id="demo", E2b_Sandbox_Port="3000").json()["tenant"]


def test_a_preview_is_another_site_with_its_own_link(skiff, console):
    """Only its link opens a preview: not the page's cookie, and no other credential. Nor does its cookie open the page."""
    skiff.up("demo")
    console.open()
    made = console.script("POST", "/v1/sandboxes/demo/previews", {"port": 1})
    assert made.status == 201, made.body
    link = urllib.parse.urlsplit(made.json()["url"])
    assert link.hostname.startswith("1-demo.skiff-previews-") and link.port == console.port
    assert link.hostname.split(".")[-2:] != console.name.split(".")[-2:], "a browser takes them for one site"
    for path, headers in ("/", {}), ("/", {"Cookie": console.cookie}), ("/", {"X_API_Key": "e2b_" + "0" * 40}), ("/v1/me", {"Cookie": console.cookie}):
        answer = console.ask("GET", path, Host=link.netloc, Sec_Fetch_Site="same-origin", Sec_Fetch_Dest="empty", **headers)
        assert answer.status == 401, answer.body
    opened = console.ask("GET", f"/?{link.query}", Host=link.netloc)
    cookie = opened.headers["Set-Cookie"].split(";")[0]
    assert "Domain" not in opened.headers["Set-Cookie"]
    # Nothing listens on port 1.
    assert console.ask("GET", "/", Host=link.netloc, Cookie=cookie).status == 502
    assert console.script("GET", "/v1/me", Cookie=cookie).status == 401
    for port in 7070, 49983, 49999:
        own = console.script("POST", "/v1/sandboxes/demo/previews", {"port": port}).json()
        if "url" not in own:
            continue
        link = urllib.parse.urlsplit(own["url"])
        assert console.ask("GET", f"/?{link.query}", Host=link.netloc).status == 421
    domain = link.hostname.partition(".")[2]
    for host in domain, f"x.{domain}", f"0-demo.{domain}", f"x.1-demo.{domain}", "1-demo.skiff-previews-0.localhost":
        assert console.ask("GET", "/", Host=f"{host}:{console.port}").status in (400, 421), host


def test_every_answer_is_confined(skiff, console):
    console.open()
    skiff.up("demo")
    (skiff.root("demo") / "x.html").write_text("<script>alert(1)</script>")
    page = console.ask("GET", "/")
    assert "script-src 'self';" in page.headers["Content-Security-Policy"] and page.headers["Content-Encoding"] == "gzip"
    for answer in (page, console.script("GET", "/v1/me"), console.script("GET", "/v1/nothing"), console.ask("GET", "/nothing"),
                   console.ask("GET", "/nothing", Accept="text/html"), console.script("GET", "/s/demo/7070/v1/sessions/default/files/x.html")):
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["X-Frame-Options"] == "DENY"
    for answer in console.script("GET", "/v1/me"), console.script("GET", "/s/demo/7070/v1/sessions/default/files/x.html"):
        assert answer.headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'; sandbox"


class HostileAgent(http.server.BaseHTTPRequestHandler):
    """An agent in the hands of its sandbox: it answers everything as a web page of the console's origin would."""

    seen = []

    def answer(self):
        self.seen.append(dict(self.headers))
        if self.path == "/v1/version":
            body = json.dumps({"version": "9.9.9", "sandbox_id": "x", "instance": "i", "labels": {}}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        self.send_response(307)
        for name, value in (("Content-Type", "text/html"), ("Set-Cookie", "skiff-console=stolen; Path=/"), ("Clear-Site-Data", '"*"'),
                            ("Location", "/v1/sandboxes/demo/stop"), ("Content-Security-Policy", "default-src *"), ("Refresh", "0;url=/"),
                            ("Link", "</x.css>; rel=preload"), ("Service-Worker-Allowed", "/"), ("X-Frame-Options", "ALLOWALL"),
                            ("X-Content-Type-Options", "no"), ("Content-Length", "25")):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(b"<script>alert(1)</script>")

    do_GET = do_POST = do_DELETE = do_HEAD = answer

    def log_message(self, *_):
        pass


@pytest.fixture
def hostile():
    HostileAgent.seen = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), HostileAgent)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_hostile_sandbox_gets_no_credential_and_sets_nothing(tmp_path, hostile):
    skiff = Skiff(tmp_path)
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", skiff.work / "key.pem"], check=True, capture_output=True)
    one = Console(skiff, "--key-file", "key.pem", env={"SKIFF_DRIVER": "direct", "SKIFF_URL": hostile})
    try:
        one.open()
        for method in "GET", "POST":
            answer = one.script(method, "/s/direct/7070/v1/sessions/default/commands", None if method == "GET" else {})
            assert answer.status == 307, answer.body
            for name in ("Set-Cookie", "Clear-Site-Data", "Location", "Refresh", "Link", "Service-Worker-Allowed"):
                assert name not in answer.headers
            assert answer.headers.get_all("X-Frame-Options") == ["DENY"]
            assert answer.headers.get_all("X-Content-Type-Options") == ["nosniff"]
            assert answer.headers.get_all("Content-Security-Policy") == ["default-src 'none'; frame-ancestors 'none'; sandbox"]
        secret = one.cookie.partition("=")[2]
        told = json.dumps(HostileAgent.seen)
        assert HostileAgent.seen and secret not in told and "e2b_" not in told and "Cookie" not in told
    finally:
        one.stop()
        skiff.finish()
