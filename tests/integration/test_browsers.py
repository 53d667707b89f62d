"""Browsers get pages instead of JSON, and WebSockets without fields of their own."""

import base64
import socket
import urllib.parse

import pytest

from upstream import Upstream, answering, saying

DOMAIN = "sandboxes.localhost"
# As Chromium and Firefox send it for what is typed into the address bar.
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"}
NOBODY = {"Authorization": None}


def is_page(answer):
    text = answer.body.decode()
    page = answer.headers["Content-Type"] == "text/html; charset=utf-8"
    if page:
        assert text.startswith("<!doctype html>") and "<script" not in text and "http:" not in text and "https:" not in text
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["X-Frame-Options"] == "SAMEORIGIN" and answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "no-store"
    return page


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def made(server, key):
    return server.request("POST", "/v1/sandboxes", {}, key).json()["id"]


# --- pages ---


def test_the_agents_own_address_shows_a_page_to_a_browser_alone(agent):
    answer = agent.request("GET", "/", headers={**BROWSER, **NOBODY})
    assert answer.status == 200 and is_page(answer)
    assert "skiffd" in answer.text and "/openapi.json" in answer.text and "Authorization: Bearer TOKEN" in answer.text
    for accept in None, "*/*", "application/json":
        said = agent.request("GET", "/", headers={"Accept": accept, **NOBODY})
        assert said.json()["name"] == "skiffd" and said.headers["Vary"] == "Accept", accept
    head = agent.request("HEAD", "/", headers={**BROWSER, **NOBODY})
    assert head.status == 200 and not head.body


@pytest.mark.parametrize("path, status, word", [("/v1/version", 401, "credential"), ("/no/such/path", 401, "credential")])
def test_a_refusal_of_the_agent_is_a_page_too(agent, path, status, word):
    answer = agent.request("GET", path, headers={**BROWSER, **NOBODY})
    assert answer.status == status and is_page(answer) and word in answer.text
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    agent.request("GET", path, headers=NOBODY).problem(status)
    assert is_page(agent.request("GET", "/no/such/path", headers=BROWSER))


def test_a_port_on_which_nobody_listens_is_a_page_that_tries_again(agent, serving, key):
    port = free_port()
    server = serving.start("--domain", DOMAIN)
    sandbox = made(server, key)
    host = {"Host": f"{port}-{sandbox}.{DOMAIN}"}
    ways = [lambda fields: agent.request("GET", f"/v1/ports/{port}/", headers=fields),
            lambda fields: server.request("GET", f"/s/{sandbox}/{port}/", key=key, headers=fields),
            lambda fields: server.request("GET", "/", key=key, headers={**host, **fields})]
    for ask in ways:
        answer = ask(BROWSER)
        assert answer.status == 502 and is_page(answer)
        assert f"Nothing listens on port {port} yet" in answer.body.decode() and 'http-equiv="refresh"' in answer.body.decode()
        assert ask({"Accept": "*/*"}).json()["code"] == "port_not_listening"
        assert ask({"Accept": "image/avif,image/webp,*/*;q=0.8"}).json()["code"] == "port_not_listening", "a picture in a page"


def test_an_applications_error_is_not_replaced_by_a_page(agent):
    with Upstream(answering(b'{"own":1}', "404 Not Found", "Content-Type: application/json")) as upstream:
        answer = agent.request("GET", upstream.path(), headers=BROWSER)
        assert (answer.status, answer.body) == (404, b'{"own":1}') and "Content-Security-Policy" not in answer.headers
    with Upstream(saying("nonsense\r\n\r\n")) as upstream:
        answer = agent.request("GET", upstream.path(), headers=BROWSER)
        assert answer.status == 502 and is_page(answer)


def test_the_servers_own_address_shows_a_page_to_a_browser_alone(serving, key):
    server = serving.start("--domain", DOMAIN)
    for headers in {}, {"Host": f"api.{DOMAIN}"}:
        answer = server.request("GET", "/", headers={**BROWSER, **headers})
        assert answer.status == 200 and is_page(answer) and "X-API-Key" in answer.body.decode()
        assert server.request("GET", "/", headers={"Accept": "*/*", **headers}).json()["code"] == "not_found"
    refused = server.request("GET", "/v1/me", headers=BROWSER)
    assert refused.status == 401 and is_page(refused) and refused.headers["WWW-Authenticate"] == "Bearer"
    missing = server.request("GET", "/s/s00000000000000000000/3000/", key=key, headers=BROWSER)
    assert missing.status == 404 and is_page(missing) and "no such sandbox" in missing.body.decode()


def test_a_preview_whose_link_is_over_says_so_in_a_page(serving, key):
    server = serving.start("--domain", DOMAIN)
    sandbox = made(server, key)
    host = {"Host": f"3000-{sandbox}.{DOMAIN}"}
    for path in "/", "/?skiff-preview=1.x", "/?skiff-preview=" + urllib.parse.quote("<script>alert(1)</script>"):
        answer = server.request("GET", path, headers={**host, **BROWSER})
        assert answer.status == 401 and is_page(answer) and "link" in answer.body.decode() and "refresh" not in answer.body.decode()
        assert server.request("GET", path, headers=host).json()["code"] == "unauthenticated"


@pytest.mark.parametrize("evil", ["<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "';alert(1)//"])
def test_no_text_of_a_request_becomes_markup(agent, serving, key, evil):
    server = serving.start("--domain", DOMAIN)
    quoted = urllib.parse.quote(evil, safe="")
    targets = [f"/v1/ports/{quoted}/", f"/v1/version?{quoted}=1", f"/v1/sessions/{quoted}", f"/v1/commands/{quoted}", f"/v1/files/{quoted}"]
    answers = [agent.request("GET", target, headers=BROWSER) for target in targets]
    answers += [server.request("GET", target, key=key, headers=BROWSER)
                for target in (f"/s/{quoted}/3000/", f"/s/a/{quoted}/", f"/v1/sandboxes/{quoted}", f"/v1/sandboxes?state={quoted}")]
    answers.append(server.request("GET", "/", key=key, headers={**BROWSER, "E2b-Sandbox-Id": evil, "E2b-Sandbox-Port": "1"}))
    for answer in answers:
        assert answer.status >= 400 and is_page(answer), answer.body
        assert evil not in answer.body.decode() and "<img" not in answer.body.decode()


def test_the_program_that_answers_says_its_name(agent, serving, key):
    assert agent.request("GET", "/healthz").headers["Server"] == "skiffd"
    server = serving.start()
    assert server.request("GET", "/healthz").headers["Server"] == "skiff"
    assert server.request("GET", "/", headers={"X-Long": "x" * 40_000}).headers["Server"] == "skiff"
    sandbox = made(server, key)
    assert server.request("GET", f"/s/{sandbox}/7070/v1/version", key=key).headers.get_all("Server") == ["skiffd"]


# --- WebSockets ---


def without_padding(token):
    return base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")


@pytest.mark.parametrize("path", ["/v1/shell", "/v1/connect", "/v1/sessions/default/run?command=true", "/v1/ports/1:tcp"])
def test_a_token_in_a_subprotocol_is_base64url_and_the_refusal_says_so(agent, path):
    def ask(offered):
        return agent.request("GET", path, headers={
            **NOBODY, "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol": offered})

    for wrong in agent.token + "!", "", "a b".replace(" ", "~"):
        assert "base64url" in ask("skiff.v1.json, skiff.bearer." + wrong).problem(401, "unauthenticated")["detail"], wrong
    ask("skiff.v1.json, skiff.bearer." + without_padding("another")).problem(401, "unauthenticated")


def test_a_browser_is_answered_with_the_subprotocol_that_stands_beside_its_token(agent):
    own = "skiff.bearer." + without_padding(agent.token)
    for path in "/v1/connect", "/v1/shell":
        with agent.raw_ws(path, {**NOBODY, "Sec-WebSocket-Protocol": f"skiff.v1.json, {own}"}) as socket_:
            assert socket_.stream.headers.get_all("Sec-WebSocket-Protocol") == ["skiff.v1.json"]
    documents = agent.request("GET", "/openapi.json").text, agent.request("GET", "/asyncapi.json").text
    assert all("skiff.bearer." in text and "base64url" in text for text in documents)


@pytest.mark.parametrize("keys", ["ls\n", "1", "", "[]", "\"x\"", "exit 4\n"])
def test_keys_as_text_are_refused_with_what_to_send(agent, keys):
    with agent.raw_ws("/v1/shell") as socket_:
        socket_.send(1, keys.encode())
        reason = None
        while (frame := socket_.recv()) is not None:
            if frame[0] == 8:
                reason = frame[1]
                break
        assert reason and int.from_bytes(reason[:2]) == 1003 and b"binary frames" in reason, reason
    with agent.raw_ws("/v1/shell") as socket_:
        socket_.send(1, b'{"resize":{"cols":90,"rows":30}}')
        socket_.send(2, b"exit 4\n")
        assert socket_.close_code() == 1000
