"""Attacks on `skiff serve --console`: on its sessions, by other pages, by sandboxes, and by tenants on each other."""

import base64
import ctypes
import hashlib
import hmac
import json
import threading
import time

import pytest

from rights import signed
from serving import Serving
from signed_in import Browser, is_form, serve_console

PATHS = ("/v1/me", "/v1/sandboxes", "/v1/events", "/s/demo/7070/v1/version")


@pytest.fixture
def server(serving):
    return serve_console(serving)


@pytest.fixture
def browser(server, key):
    return Browser(server).sign_in(key)


# --- the session ---

def test_a_changed_cookie_is_none(server, key, browser):
    name, _, value = browser.cookie.partition("=")
    end, _, sealed = value.partition(".")
    later = str(int(end) + 1)
    other = Browser(server).sign_in(key).cookie.partition("=")[2].partition(".")
    changed = [sealed[:at] + ("A" if sealed[at] != "A" else "B") + sealed[at + 1:] for at in (0, 1, 15, 16, 20, 40, 75, 80, len(sealed) - 2)]
    wrong = ["", ".", "x", end, f"{end}.", f".{sealed}", f"{later}.{sealed}", f"0{end}.{sealed}", f"-{end}.{sealed}", f"+{end}.{sealed}",
             f"{end}.{sealed}=", f"{end}.{sealed}A", f"{end}.{sealed[:-1]}", f"{end}.{sealed[:20]}", f"{end}.{'A' * 16}", f"{end}.{'A' * 3000}",
             f"999999999999.{sealed}", f"9999999999999999999999.{sealed}", f"{int(other[0]) + 1}.{other[2]}", *[f"{end}.{one}" for one in changed]]
    for one in wrong:
        answer = browser.script("GET", "/v1/me", Cookie=f"{name}={one}")
        assert (answer.status, answer.json()["code"]) == (401, "unauthenticated"), one
    # One good cookie of several is enough: another page on the same name can set some, too.
    assert browser.script("GET", "/v1/me", Cookie=f"{name}=tossed; a=b; {browser.cookie}").status == 200
    assert browser.script("GET", "/v1/me").status == 200


def test_a_cookie_of_another_server_is_none(tmp_path, server, browser):
    (tmp_path / "other").mkdir()
    other = Serving(tmp_path / "other")
    try:
        stranger = Browser(serve_console(other)).sign_in(other.key())
        assert browser.script("GET", "/v1/me", Cookie=stranger.cookie).status == 401
        assert stranger.script("GET", "/v1/me", Cookie=browser.cookie).status == 401
    finally:
        other.finish()


def test_a_copy_of_the_stored_keys_makes_no_session(serving, key, browser):
    """Neither a digest nor the ring's secret is a key: nothing of the file is taken as one at the form."""
    ring = json.loads((serving.skiff.state / "skiff/api-keys.json").read_text())
    (one,) = ring["keys"]
    for text in one["sha256"], ring["token_secret"], f"e2b_{one['sha256'][:40]}", f"e2b_{ring['token_secret'][:40]}":
        assert Browser(browser.server).post_form(text).status == 401
    assert key not in json.dumps(ring)


@pytest.mark.parametrize("end", ["removed", "expired", "made again"])
def test_all_that_a_session_has_opened_ends_with_its_key(serving, key, browser, end):
    keep = serving.key("keep")
    made = browser.script("POST", "/v1/sandboxes", {}).json()["id"]
    commands = f"/s/{made}/7070/v1/sessions/default/commands"
    command = browser.script("POST", commands, {"command": "cat", "mode": "background", "stdin_open": True, "tty": {}}).json()["id"]
    terminal = browser.socket(f"{commands}/{command}/attach?from=0")
    events = []
    reader = threading.Thread(target=lambda: events.append(browser.script("GET", "/v1/events").body))
    reader.start()
    if end == "removed":
        serving.skiff("key", "rm", "me")
    elif end == "made again":
        serving.skiff("key", "rm", "me")
        serving.key("me")
    else:
        file = serving.skiff.state / "skiff/api-keys.json"
        ring = json.loads(file.read_text())
        next(one for one in ring["keys"] if one["name"] == "me")["expires_ms"] = 1
        file.with_suffix(".new").write_text(json.dumps(ring))
        file.with_suffix(".new").rename(file)
    for _ in terminal.frames():
        pass
    reader.join(60)
    assert events and b"unauthenticated" in events[0]
    assert browser.script("GET", "/v1/me").status == 401
    assert is_form(browser.open())
    # The command goes on: it is the tenant's.
    other = Browser(browser.server).sign_in(keep)
    assert other.script("GET", f"{commands}/{command}").json()["state"] == "running"


def sealed(token_secret, key, end):
    """The cookie of a session as the server writes it, with another end than its own."""
    secret = hashlib.sha256(hmac.new(token_secret.encode(), b"console/sessions", "sha256").hexdigest().encode()).digest()
    ssl = ctypes.CDLL("libcrypto.so.3")
    for name in "EVP_CIPHER_CTX_new", "EVP_aes_256_gcm":
        getattr(ssl, name).restype = ctypes.c_void_p
    context, size = ctypes.c_void_p(ssl.EVP_CIPHER_CTX_new()), ctypes.c_int()
    nonce, text, tag = bytes(12), ctypes.create_string_buffer(len(key)), ctypes.create_string_buffer(16)
    claims = f"skiff console 1\n{end}".encode()
    done = (ssl.EVP_EncryptInit_ex(context, ctypes.c_void_p(ssl.EVP_aes_256_gcm()), None, secret, nonce),
            ssl.EVP_EncryptUpdate(context, None, ctypes.byref(size), claims, len(claims)),
            ssl.EVP_EncryptUpdate(context, text, ctypes.byref(size), key.encode(), len(key)),
            ssl.EVP_EncryptFinal_ex(context, None, ctypes.byref(size)), ssl.EVP_CIPHER_CTX_ctrl(context, 0x10, 16, tag))
    ssl.EVP_CIPHER_CTX_free(context)
    assert done == (1,) * 5
    return f"skiff-session={end}." + base64.urlsafe_b64encode(nonce + text.raw + tag.raw).decode().rstrip("=")


def test_all_that_a_session_has_opened_ends_with_the_session_itself(serving, key, browser):
    """The key goes on. The end is in the session, which this test seals itself, as it does not wait for twelve hours."""
    made = browser.script("POST", "/v1/sandboxes", {}).json()["id"]
    ring = json.loads((serving.skiff.state / "skiff/api-keys.json").read_text())
    commands = f"/s/{made}/7070/v1/sessions/default/commands"
    command = browser.script("POST", commands, {"command": "cat", "mode": "background", "stdin_open": True, "tty": {}}).json()["id"]
    browser.cookie = sealed(ring["token_secret"], key, int(time.time()) + 5)
    events = []
    reader = threading.Thread(target=lambda: events.append(browser.script("GET", "/v1/events").body))
    reader.start()
    for _ in browser.socket(f"{commands}/{command}/attach?from=0").frames():
        pass
    reader.join(60)
    assert events and b"unauthenticated" in events[0]
    assert browser.script("GET", "/v1/me").status == 401
    assert browser.server.request("GET", "/v1/me", key=key).status == 200


def test_a_lesser_key_stays_one(serving, server):
    made = server.request("POST", "/v1/sandboxes", {}, serving.key("full")).json()["id"]
    looks = Browser(server).sign_in(serving.key("looks", "--scope", "use"))
    assert looks.script("GET", f"/v1/sandboxes/{made}").status == 200
    for method, path in (("POST", "/v1/sandboxes"), ("POST", f"/v1/sandboxes/{made}/stop"), ("DELETE", f"/v1/sandboxes/{made}")):
        answer = looks.script(method, path, {} if method == "POST" else None)
        assert (answer.status, answer.json()["code"]) == (403, "insufficient_scope")
    makes = Browser(server).sign_in(serving.key("makes", "--scope", "create"))
    for path in "/v1/sandboxes", f"/s/{made}/7070/v1/version":
        assert makes.script("GET", path).status == 403


def test_tenants_see_nothing_of_each_other(serving, server, browser):
    theirs = Browser(server).sign_in(serving.key("them", "--tenant", "them"))
    made = browser.script("POST", "/v1/sandboxes", {}).json()["id"]
    assert theirs.script("GET", "/v1/sandboxes").json()["items"] == []
    for method, path in (("GET", f"/v1/sandboxes/{made}"), ("DELETE", f"/v1/sandboxes/{made}"), ("GET", f"/s/{made}/7070/v1/version")):
        assert theirs.script(method, path).status == 404
    # Fields that name another sandbox or tenant are left out.
    fields = {"X_Sandbox_ID": made, "X_Sandbox_Namespace": "default", "X_Sandbox_Port": "7070", "E2b_Sandbox_Id": made, "E2b_Sandbox_Port": "7070"}
    assert theirs.script("GET", "/v1/me", **{name: fields[name] for name in list(fields)[3:]}).json().get("tenant") in (None, "them")
    assert browser.script("GET", f"/v1/sandboxes/{made}").status == 200


# --- other pages ---

FOREIGN = [
    {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "https://{host}"}, {"Origin": "http://127.0.0.1:1"},
    {"Sec_Fetch_Site": "same-site"}, {"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "none"},
    {"Sec_Fetch_Dest": "document"}, {"Sec_Fetch_Dest": "iframe"}, {"Sec_Fetch_Dest": "script"}, {"Sec_Fetch_Dest": "serviceworker"},
    {"Sec_Fetch_Dest": "image"}, {"Sec_Fetch_Site": None, "Sec_Fetch_Dest": None},
]


def test_only_the_own_pages_script_uses_the_session(browser):
    for one in FOREIGN:
        headers = {name: value and value.format(host=browser.host) for name, value in one.items()}
        for path in PATHS:
            answer = browser.script("GET", path, **headers)
            assert (answer.status, answer.json()["code"]) == (403, "origin_not_allowed"), (path, one)
        assert browser.script("POST", "/v1/sandboxes", {}, **{"Origin": None, **headers}).status == 403, one
        assert browser.script("POST", "/sign-out", **{"Origin": None, **headers}).status == 403, one
        if headers.get("Origin"):
            with pytest.raises(Exception, match="403"):
                browser.socket("/s/demo/7070/v1/connect", **headers)
    assert browser.script("GET", "/v1/me").status == 200


FOREIGN_FORMS = [
    {"Origin": "http://evil.example", "Sec_Fetch_Site": "cross-site"}, {"Origin": "null"}, {"Origin": None}, {"Origin": "http://localhost:1"},
    {"Origin": None, "Sec_Fetch_Site": None}, {"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"}, {"Sec_Fetch_Site": "none"},
]


def test_no_other_page_signs_anybody_in(server, key):
    for headers in FOREIGN_FORMS:
        answer = Browser(server).post_form(key, **headers)
        assert answer.status == 403 and "Set-Cookie" not in answer.headers and is_form(answer), headers


def test_a_name_of_somebody_else_has_no_console(server, key, browser):
    """DNS rebinding: the browser takes the server for a page of the attacker's own."""
    for host in "evil.example", "evil.example:{port}", "localhost.evil.example", "127.0.0.2:{port}", "x.localhost":
        browser.host = host.format(port=server.host.rpartition(":")[2])
        browser.origin = f"http://{browser.host}"
        for path in "/", "/console.js", "/sign-in":
            answer = browser.open(path)
            assert answer.status == 421 and b"--behind-proxy" in answer.body and b"<form" not in answer.body, (host, path)
        assert browser.post_form(key).status == 421
        assert browser.script("GET", "/v1/me").status == 421
        # Programs may use any name.
        assert server.request("GET", "/v1/me", key=key, headers={"Host": browser.host}).status == 200


def test_a_client_cannot_say_that_it_came_by_tls(server, key):
    answer = Browser(server, at="evil.example").post_form(key)
    assert answer.status == 421 and "Set-Cookie" not in answer.headers


def test_no_page_shows_the_console_in_a_frame_and_every_answer_is_confined(server, browser):
    answers = [browser.open(), browser.open("/sign-in"), browser.open("/console.js"), browser.script("GET", "/v1/me"), browser.script("GET", "/v1/no"),
               Browser(server).post_form("x"), Browser(server).script("GET", "/v1/me"), browser.script("POST", "/sign-out"),
               browser.open("/s/demo/3000/")]
    for answer in answers:
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy, answer.body
        assert "'unsafe-inline'" not in policy.partition("script-src")[2].partition(";")[0]
        assert (answer.headers["X-Frame-Options"], answer.headers["X-Content-Type-Options"]) == ("DENY", "nosniff")
        assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert answer.headers["Referrer-Policy"] in ("no-referrer", "same-origin")


# --- sandboxes ---

EVIL = (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nSet-Cookie: skiff-session=theirs; Path=/\r\nSet-Cookie: own=1\r\n"
        b"Set-Cookie: =skiff-session=theirs\r\nset-cookie: __Host-skiff-session=theirs; Path=/; Secure\r\n"
        b"Content-Security-Policy: default-src *\r\nClear-Site-Data: \"*\"\r\nContent-Length: 25\r\n\r\n<script>alert(1)</script>")


def evil(seen):
    def serve(connection):
        while (head := connection.head()) is not None:
            seen.append(head)
            connection.send(EVIL)
    return serve


def test_what_a_sandbox_answers_is_no_page_of_the_consoles_origin(serving, key, server, browser):
    made = browser.script("POST", "/v1/sandboxes", {}).json()["id"]
    seen = []
    with serving.upstream(made, evil(seen)) as upstream:
        path = f"/s/{made}/{upstream.port}/"
        # The session opens no port, by whichever way.
        for way in path, f"/s/{made}/7070/v1/ports/{upstream.port}/", f"/s/{made}/7070/v1%2Fports/{upstream.port}/":
            assert browser.script("GET", way).status == 401
            assert browser.open(way).status == 403
        assert not seen
        # Nor does a browser show it that has the key by other means, such as a proxy's.
        assert browser.open(path, X_API_Key=key).status == 403 and not seen
        # A program with the key reads it, and old browsers that don't say for what they ask run nothing of it.
        answer = server.request("GET", path, key=key, headers={"Cookie": f"a=1; {browser.cookie}; __Host-skiff-session=x"})
        assert answer.status == 200 and answer.body == b"<script>alert(1)</script>"
        assert "sandbox" in answer.headers.get_all("Content-Security-Policy") and answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers.get_all("Set-Cookie") == ["own=1"]
        assert "cookies" not in answer.headers["Clear-Site-Data"]
    assert "skiff-session" not in json.dumps(seen) and key not in json.dumps(seen) and "a=1" in json.dumps(seen)


def test_a_signed_url_runs_nothing_on_the_consoles_origin(serving, key, server, browser):
    """A link that an attacker has signed for a sandbox of his, and sends to somebody with a session."""
    made = server.request("POST", "/v2/sandboxes", {"templateID": "base", "timeout": 600}, key).json()
    box, token = made["sandboxID"], made["envdAccessToken"]
    file = serving.skiff.root(box) / "x.html"
    file.write_text("<script>fetch('/v1/sandboxes')</script>")
    server.request("POST", "/process.Process/List", {}, headers={"X-Access-Token": token, "E2b-Sandbox-Id": box, "E2b-Sandbox-Port": "49983"})
    link = f"/s/{box}/49983" + signed(str(file), token)
    assert browser.open(link).status == 403
    assert browser.ask("GET", link, Cookie=browser.cookie, Sec_Fetch_Dest="script", Sec_Fetch_Site="same-origin").status == 403
    # Old browsers do not say for what they ask. A signature counts only at a host of the sandbox.
    assert browser.ask("GET", link, Cookie=browser.cookie).status == 401


# --- guesses ---

def test_guesses_of_one_address_leave_room_for_another(serving, key):
    """While the keys cannot be read, an unknown key waits: there is a bound for those that wait, and a share for each address."""
    server = serve_console(serving, "--behind-proxy")
    guesser, other = Browser(server, at="sandboxes.example"), Browser(server, at="sandboxes.example")
    other.proxy = {**other.proxy, "X-Forwarded-For": "198.51.100.1"}
    statuses = []

    def guess(number):
        statuses.append(guesser.post_form(f"e2b_{number:040x}").status)

    guesses = [threading.Thread(target=guess, args=(number,)) for number in range(60)]
    for one in guesses:
        one.start()
    assert other.post_form(key).status == 303
    for one in guesses:
        one.join(60)
    assert set(statuses) <= {401, 429, 503} and 401 in statuses and len(statuses) == 60
