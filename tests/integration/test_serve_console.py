"""`skiff serve --console`: signing in with an API key, the session, and what it opens. tests/attacks/test_serve_console.py attacks it."""

import hashlib
import json

import pytest

from signed_in import TYPED, Browser, is_form, is_page, serve_console
from waiting import until


@pytest.fixture
def server(serving):
    return serve_console(serving)


@pytest.fixture
def browser(server):
    return Browser(server)


def test_a_browser_signs_in_once_and_the_page_speaks_for_the_key(key, server, browser):
    assert is_form(browser.open()) and browser.open().status == 200
    answer = browser.post_form(key)
    assert (answer.status, answer.headers["Location"]) == (303, "/")
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith("skiff-session=") and cookie.endswith("; Path=/; HttpOnly; SameSite=Strict") and "Domain" not in cookie
    assert key not in str(answer.headers) and key[4:] not in cookie and not answer.body
    browser.cookie = cookie.split(";")[0]
    assert is_page(browser.open()) and is_page(browser.open("/console.js")) and is_page(browser.open("/console.css"))
    assert browser.script("GET", "/v1/me").json()["name"] == "me"
    made = browser.script("POST", "/v1/sandboxes", {}).json()["id"]
    assert [one["id"] for one in browser.script("GET", "/v1/sandboxes").json()["items"]] == [made]
    started = browser.script("POST", f"/s/{made}/7070/v1/sessions/default/commands", {"command": "echo hello", "mode": "wait"})
    assert started.json()["stdout"] == "hello\n"
    # To look at a sandbox starts none.
    assert browser.script("POST", f"/v1/sandboxes/{made}/stop", {}).status == 200
    assert browser.script("GET", f"/s/{made}/7070/v1/version").status == 409
    assert browser.script("GET", f"/v1/sandboxes/{made}").json()["state"] == "stopped"
    # A program wakes it, as without the console.
    assert server.request("GET", f"/s/{made}/7070/v1/version", key=key).status == 200


def test_programs_have_what_they_have_without_the_console(serving, key, server):
    without = serving.start()
    for path, headers in (("/", {}), ("/healthz", {}), ("/openapi.json", {}), ("/v1/me", {}), ("/sandboxes", {}), ("/nothing", {}),
                          ("/v1/me", {"X-API-Key": key}), ("/v1/sandboxes", {"X-API-Key": key}), ("/sandboxes", {"Authorization": f"Bearer {key}"})):
        ours, theirs = server.request("GET", path, headers=headers), without.request("GET", path, headers=headers)
        assert ours.status == theirs.status, path
        assert set(ours.headers) == set(theirs.headers), path
    assert b"no pages of its own" in without.request("GET", "/", headers={"Accept": TYPED["Accept"]}).body
    for path in "/console.js", "/sign-in":
        assert without.request("GET", path).status == 404


def test_a_key_that_is_not_known_is_refused_in_words(browser):
    for text in "", "me", "e2b_" + "0" * 40, "e2b_" + "0" * 39, "<script>alert(1)</script>", "a.b.c", "\0":
        answer = browser.post_form(text)
        assert answer.status == 401 and is_form(answer) and "Set-Cookie" not in answer.headers, text
        assert b'<p role="alert">This key is not known, or it has expired.</p>' in answer.body
        assert b"alert(1)" not in answer.body


def test_the_form_takes_a_key_with_blanks_around_it(key, browser):
    browser.sign_in(f"  {key}\t")
    assert browser.script("GET", "/v1/me").status == 200


def test_what_is_not_the_form_is_refused(browser):
    for body in b"", b"key", b"key=%", b"other=1", b"key=" + b"x" * 5000:
        answer = browser.post_form(body)
        assert answer.status in (401, 413) and is_form(answer), answer.body
    assert browser.post_form(b"{}", Content_Type="application/json").status == 415


def test_without_a_session_the_page_learns_where_to_sign_in(key, browser):
    answer = browser.script("GET", "/v1/events")
    assert (answer.status, answer.headers["Link"]) == (401, '</sign-in>; rel="sign-in"')
    assert is_form(browser.open("/sign-in"))
    # A link on another site's page comes without the cookie, which the page's script has.
    assert is_page(browser.open(Sec_Fetch_Site="cross-site"))


def test_signing_out_removes_the_cookie(key, browser):
    browser.sign_in(key)
    answer = browser.script("POST", "/sign-out")
    assert (answer.status, answer.headers["Set-Cookie"]) == (204, "skiff-session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
    browser.cookie = None
    assert is_form(browser.open()) and browser.script("GET", "/v1/me").status == 401


def test_a_session_is_one_of_every_replica_and_survives_a_restart(serving, key, server, browser):
    browser.sign_in(key)
    other = Browser(serve_console(serving))
    other.cookie = browser.cookie
    assert server.stop() == 0
    assert is_page(other.open()) and other.script("GET", "/v1/me").json()["name"] == "me"


def test_behind_a_proxy_with_tls_the_cookie_belongs_to_the_host_alone(serving, key):
    server = serve_console(serving, "--behind-proxy")
    browser = Browser(server, at="sandboxes.example")
    answer = browser.post_form(key)
    assert answer.headers["Set-Cookie"].startswith("__Host-skiff-session=") and answer.headers["Set-Cookie"].endswith("; SameSite=Strict; Secure")
    browser.sign_in(key)
    assert browser.script("GET", "/v1/me").status == 200 and browser.script("POST", "/v1/sandboxes", {"wait": False}).status == 202
    # The name of a cookie without TLS does not count there.
    assert browser.script("GET", "/v1/me", Cookie=browser.cookie.removeprefix("__Host-")).status == 401


def test_previews_say_what_they_need(serving, key, browser):
    browser.sign_in(key)
    made = browser.script("POST", "/v1/sandboxes", {}).json()["id"]
    answer = browser.script("POST", f"/v1/sandboxes/{made}/previews", {"port": 3000})
    assert answer.status == 501 and "--domain" in answer.json()["detail"]
    with_domain = Browser(serve_console(serving, "--domain", "sandboxes.localhost")).sign_in(key)
    link = with_domain.script("POST", f"/v1/sandboxes/{made}/previews", {"port": 3000}).json()["url"]
    assert link.startswith(f"http://3000-{made}.sandboxes.localhost:")


def test_the_audit_log_has_who_signed_in_and_no_key(serving, key, tmp_path):
    log = tmp_path / "audit"
    server = serve_console(serving, "--audit-log", log)
    browser = Browser(server)
    assert browser.post_form("e2b_" + "1" * 40).status == 401
    browser.sign_in(key)
    browser.script("GET", "/v1/sandboxes")
    browser.script("POST", "/sign-out")
    assert server.stop() == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    told = [(one["method"], one["route"], one["status"], one.get("who"), one.get("error")) for one in lines]
    assert told == [("POST", "/sign-in", 401, None, "unauthenticated"), ("POST", "/sign-in", 303, "me", None),
                    ("GET", "/v1/sandboxes", 200, "me", None), ("POST", "/sign-out", 204, "me", None)]
    assert lines[1]["key"] == hashlib.sha256(key.encode()).hexdigest()[:8] and lines[1]["tenant"] == "default"
    everything = log.read_text() + server_log(serving)
    assert key not in everything and "1" * 40 not in everything and browser.cookie.partition("=")[2] not in everything


def server_log(serving):
    return "".join(one.read_text() for one in serving.skiff.work.glob("serve-*.log"))


def test_a_session_ends_with_its_key(serving, browser):
    short = serving.key("short", "--ttl", "4s")
    browser.sign_in(short)
    assert browser.script("GET", "/v1/me").status == 200
    until(lambda: browser.script("GET", "/v1/me").status == 401)
    assert is_form(browser.open())

