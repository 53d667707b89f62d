"""The ways through `skiff serve` to what is in a sandbox, and who may take them."""

import base64
import concurrent.futures
import hashlib
import os
import socket
import threading
import urllib.parse

import pytest

from sockets import RawWs

DOMAIN = "sandboxes.localhost"
ENVD = {"E2b-Sandbox-Port": "49983"}


@pytest.fixture
def server(serving, key):
    return serving.start("--domain", DOMAIN)


def made(server, key, body=None):
    answer = server.request("POST", "/v1/sandboxes", body or {}, key)
    assert answer.status == 201, answer.body
    return answer.json()["id"]


def made_by_e2b(server, key, **body):
    answer = server.request("POST", "/v2/sandboxes", {"templateID": "base", "timeout": 600, **body}, key)
    assert answer.status == 201, answer.body
    return answer.json()["sandboxID"], answer.json()["envdAccessToken"]


def run(server, key, sandbox, script):
    answer = server.request("POST", f"/s/{sandbox}/7070/v1/run", script.encode(), key, {"Content-Type": "text/plain"})
    assert answer.status == 200, answer.body
    return answer.body.decode()


def serve_pages(server, key, sandbox):
    """A server on a loopback port of the sandbox that says hello."""
    server.request("PUT", f"/s/{sandbox}/7070/v1/files/index.html", b"hello", key)
    script = """
import http.server, functools
s = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
print(s.server_port, flush=True)
s.serve_forever()
"""
    run(server, key, sandbox, f"cat > page.py <<'END'\n{script}\nEND\npython3 -u page.py > port 2>/dev/null & "
                              "while ! [ -s port ]; do sleep 0.05; done")
    return int(run(server, key, sandbox, "cat port"))


def test_by_path_the_agent_and_a_port_are_reached(server, key):
    sandbox = made(server, key, {"env": {"WHO": "me"}})
    assert run(server, key, sandbox, "echo $WHO") == "me\n"
    port = serve_pages(server, key, sandbox)
    assert server.request("GET", f"/s/{sandbox}/{port}/index.html", key=key).body == b"hello"


def test_a_stranger_passes_nowhere_and_wakes_nothing(server, serving, key):
    sandbox, token = made_by_e2b(server, key, autoResume={"enabled": True})
    other, other_token = made_by_e2b(server, key)
    stranger = serving.key("stranger", "--tenant", "stranger")
    looks = serving.key("makes", "--scope", "create")
    assert server.request("POST", f"/sandboxes/{sandbox}/pause", {}, key).status == 204
    named = {"E2b-Sandbox-Id": sandbox, **ENVD}
    assert server.request("GET", "/health", headers=named).status == 401
    assert server.request("GET", "/health", headers={**named, "X-Access-Token": other_token}).status == 401
    assert server.request("GET", "/files?path=a&signature=v1_x", headers=named).status == 401
    assert server.request("GET", f"/s/{sandbox}/7070/v1/version").status == 401
    assert server.request("GET", f"/s/{sandbox}/7070/v1/version", key=stranger).status == 404
    assert server.request("GET", f"/s/{sandbox}/7070/v1/version", key=looks).status == 403
    assert server.request("GET", "/", headers={"Host": f"3000-{sandbox}.{DOMAIN}"}).status == 401
    assert server.request("GET", f"/v1/sandboxes/{sandbox}", key=key).json()["state"] == "stopped"


def test_a_field_without_a_key_says_nothing_against_the_other(server, serving, key):
    """One of them may be the application's."""
    sandbox, _ = made_by_e2b(server, key)
    looks = serving.key("looks", "--scope", "create")
    wrong = "e2b_" + "0" * 40

    def status(given, bearer):
        fields = {"X-API-Key": given, "Authorization": f"Bearer {bearer}"}
        return server.request("GET", f"/s/{sandbox}/7070/v1/version", headers=fields).status

    assert [status(wrong, key), status("the-applications", key), status(key, wrong), status(key, key)] == [200] * 4
    assert [status(wrong, wrong), status(looks, key), status(wrong, looks)] == [401, 403, 403]
    port = serve_pages(server, key, sandbox)
    fields = {"X-API-Key": "the-applications", "Authorization": f"Bearer {key}"}
    assert server.request("GET", f"/s/{sandbox}/{port}/index.html", headers=fields).body == b"hello"


def test_a_request_wakes_what_is_to_be_woken_once(server, serving, key):
    sandbox, token = made_by_e2b(server, key, autoResume={"enabled": True})
    run(server, key, sandbox, "echo kept > file")
    assert server.request("POST", f"/sandboxes/{sandbox}/pause", {}, key).status == 204
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: run(server, key, sandbox, "cat file"), range(20)))
    assert answers == ["kept\n"] * 20
    assert server.told().count('"message":"waking"') == 1


def test_fields_of_a_sandbox_do_not_lead_requests_for_control_astray(server, key):
    sandbox, token = made_by_e2b(server, key)
    named = {"E2b-Sandbox-Id": sandbox, **ENVD, "X-Access-Token": token}
    assert server.request("GET", f"/sandboxes/{sandbox}", key=key, headers=named).json()["sandboxID"] == sandbox
    assert server.request("POST", f"/sandboxes/{sandbox}/connect", {}, headers=named).status == 401
    # The agent's own, although the server has one of that name.
    assert "cpu_count" in server.request("GET", "/metrics", key=key, headers=named).json()


def test_a_sandbox_that_its_owner_has_paused_stays_paused(server, key):
    sandbox, token = made_by_e2b(server, key)
    assert server.request("POST", f"/sandboxes/{sandbox}/pause", {}, key).status == 204
    shown = {"E2b-Sandbox-Id": sandbox, **ENVD, "X-Access-Token": token}
    answer = server.request("GET", "/health", headers=shown)
    assert answer.status == 502 and answer.json()["sandboxId"] == sandbox
    assert server.request("POST", f"/sandboxes/{sandbox}/resume", {"timeout": 60}, key).status == 201
    assert server.request("GET", "/health", headers=shown).status == 204
    assert server.request("POST", f"/sandboxes/{sandbox}/resume", {}, key).status == 409


def test_a_signed_link_opens_one_file_until_its_end(server, key):
    sandbox, token = made_by_e2b(server, key)
    run(server, key, sandbox, "printf data > file")

    def link(path, expiration):
        text = f"{path}:read::{token}:{expiration}".encode()
        digest = base64.b64encode(hashlib.sha256(text).digest()).decode().rstrip("=")
        return "/files?" + urllib.parse.urlencode(
            {"path": path, "signature": "v1_" + digest, "signature_expiration": expiration})

    named = {"E2b-Sandbox-Id": sandbox, **ENVD}
    path = run(server, key, sandbox, "printf %s \"$PWD/file\"")
    # The agent knows the token from its first use.
    assert server.request("GET", "/envs", headers={**named, "X-Access-Token": token}).status == 200
    assert server.request("GET", link(path, 9999999999), headers=named).body == b"data"
    assert server.request("GET", link(path, 1), headers=named).status == 401
    assert server.request("POST", link(path, 9999999999), b"x", headers=named).status == 401
    # By the host that a browser asks as well, and where nothing names the sandbox the answer says what would.
    by_host = {"Host": f"49983-{sandbox}.{DOMAIN}"}
    assert server.request("GET", link(path, 9999999999), headers=by_host).body == b"data"
    unplaced = server.request("GET", link(path, 9999999999))
    assert unplaced.status == 404 and "E2B_DOMAIN" in unplaced.json()["detail"], unplaced.body


@pytest.mark.parametrize("query, wanted", [("", "running paused"), ("state=running", "running"), ("state=paused", "paused"),
                                           ("state=paused,running", "running paused"), ("state=paused&state=running", "running paused"),
                                           ("state=zz", 400), ("state=", 400), ("state=running,zz", 400), ("state=notpaused", 400),
                                           ("state=Running", 400), ("state=running,", 400), ("state=running&state=zz", 400)])
def test_a_list_by_e2b_is_of_the_states_that_are_asked_for(server, key, query, wanted):
    names = {"running": made(server, key), "paused": made(server, key)}
    assert server.request("POST", f"/v1/sandboxes/{names['paused']}/stop", key=key).status == 200
    answer = server.request("GET", f"/v2/sandboxes?{query}", key=key)
    if wanted == 400:
        assert answer.status == 400 and answer.json()["code"] == 400 and "running or paused" in answer.json()["message"], answer.body
    else:
        assert sorted(one["sandboxID"] for one in answer.json()) == sorted(names[state] for state in wanted.split())


def test_a_preview_opens_one_port_by_its_cookie(server, key):
    sandbox = made(server, key)
    port = serve_pages(server, key, sandbox)
    preview = server.request("POST", f"/v1/sandboxes/{sandbox}/previews", {"port": port}, key)
    assert preview.status == 201, preview.body
    url = urllib.parse.urlsplit(preview.json()["url"])
    assert url.hostname == f"{port}-{sandbox}.{DOMAIN}"
    host = {"Host": url.netloc}
    first = server.request("GET", f"{url.path}?{url.query}", headers=host)
    assert first.status == 302 and "skiff-preview" not in first.headers["Location"]
    cookie = {"Cookie": first.headers["Set-Cookie"].split(";")[0]}
    assert server.request("GET", "/index.html", headers={**host, **cookie}).body == b"hello"
    elsewhere = {"Host": f"{port + 1}-{sandbox}.{DOMAIN}"}
    assert server.request("GET", "/index.html", headers={**elsewhere, **cookie}).status == 401
    assert server.request("GET", "/v1/version", headers={"Host": f"7070-{sandbox}.{DOMAIN}", **cookie}).status == 401
    assert server.request("GET", "/index.html", headers=host).status == 401


def test_any_protocol_reaches_a_port_by_an_api_key(server, serving, key):
    def echo(connection):
        while piece := connection.sock.recv(65536):
            connection.sock.sendall(piece)
        connection.end()

    sandbox = made(server, key)
    text, binary, close = 1, 2, 8
    with serving.upstream(sandbox, echo) as upstream:
        path = f"/s/{sandbox}/7070/v1/ports/{upstream.port}:tcp"
        host, port = server.host.rsplit(":", 1)
        fields = {"Host": server.host, "X-API-Key": key, "Sec-WebSocket-Protocol": "skiff.v1.tcp"}
        with RawWs(socket.create_connection((host, int(port)), 30), path, fields) as ws:
            sent, got = os.urandom(3 << 20), []
            writer = threading.Thread(target=lambda: (ws.send(binary, sent), ws.send(text, b"")))
            writer.start()
            while (frame := ws.recv())[0] == binary:
                got.append(frame[1])
            assert frame == (text, b"") and b"".join(got) == sent
            writer.join(30)
            assert ws.recv()[0] == close
        assert server.request("GET", path, key=key).status == 426
        assert server.request("GET", path).status == 401
        assert upstream.connections == 1


def test_the_domain_that_e2bs_clients_are_told_is_one_of_this_server_or_none(server, serving, key):
    def told(of):
        created = of.request("POST", "/sandboxes", {"templateID": "base", "timeout": 600}, key).json()
        again = of.request("POST", f"/sandboxes/{created['sandboxID']}/connect", {"timeout": 600}, key).json()
        assert created["domain"] == again["domain"]
        return created

    created = told(server)
    assert created["domain"] == f"{DOMAIN}:{server.host.rpartition(':')[2]}"
    answer = server.request("GET", "/", key=key, headers={"Host": f"3000-{created['sandboxID']}.{created['domain']}"})
    assert answer.json()["code"] == "port_not_listening"
    assert told(serving.start("--domain", DOMAIN, "--behind-proxy"))["domain"] == DOMAIN
    assert told(serving.start())["domain"].endswith(".invalid")
