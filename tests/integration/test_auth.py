"""Tokens, scopes, signed tokens, Host and Origin decide who may do what, and no answer ever contains a credential."""

import io
import json
import re
import stat
import tarfile

import pytest
import websockets

from signing import Signer, b64url
from upstream import Upstream, answering
from wire import query

OPEN = ("/", "/healthz", "/readyz", "/openapi.json", "/asyncapi.json")
READ, RUN = ("GET", "/v1/sessions"), ("POST", "/v1/commands")


@pytest.fixture
def signer(tmp_path):
    folder = tmp_path / "keys"
    folder.mkdir()
    return Signer(folder)


@pytest.fixture
def signed(start_agent, signer):
    """An agent that knows a static token (for cleaning up) and a public key."""
    return start_agent("--public-key", signer.public, "--sandbox-id", "box-1")


def status(agent, token, route=READ, json=None):
    if json is None and route != READ and route[0] == "POST":
        json = {"command": "true"}
    return agent.request(*route, token=token, json=json).status


def test_a_credential_is_asked_for_before_anything_else(agent):
    paths = agent.request("GET", "/openapi.json").json()["paths"]
    assert len(paths) > 15
    nobody = {"Authorization": None}
    for path, methods in paths.items():
        if path in OPEN:
            continue
        concrete = re.sub(r"\{[^}]*\}", "x", path)
        known = {m.upper() for m in methods if m in ("get", "put", "post", "patch", "delete", "head")}
        for method in known | {"PROPFIND"}:
            answer = agent.request(method, concrete, headers=nobody, body=b"{" if method in ("POST", "PUT") else None)
            assert answer.status == 401, (method, path, answer)
            assert answer.headers["WWW-Authenticate"].startswith("Bearer"), (method, path)
    agent.request("GET", "/no/such/path", headers=nobody).problem(401, "unauthenticated")
    big = agent.stream("POST", "/v1/commands", headers={**nobody, "Content-Length": str(1 << 30)})
    with big:
        assert big.status == 401  # before a byte of the body was sent


def test_open_routes_describe_the_agent_but_not_the_sandbox(start_agent):
    agent = start_agent("--sandbox-id", "box-1")
    nobody = {"Authorization": None}
    said = agent.request("GET", "/", headers=nobody)
    assert said.status == 200 and "WWW-Authenticate" not in said.headers
    version = agent.request("GET", "/v1/version").json()["version"]
    told = said.json()
    assert told.pop("summary")
    assert told == {"name": "skiffd", "version": version, "openapi": "/openapi.json", "needs_token": True,
                    "send": "Authorization: Bearer TOKEN"}
    for path in OPEN:
        answer = agent.request("GET", path, headers=nobody)
        assert answer.status == 200 and "box-1" not in answer.text, path
        # A credential that is none is not looked at, and a page of another host still gets nothing.
        assert agent.request("GET", path, token="wrong").status == 200, path
        agent.request("GET", path, headers={**nobody, "Host": "evil.example"}).problem(421, "host_not_allowed")
        agent.request("DELETE", path, headers=nobody).problem(401, "unauthenticated")


def test_with_a_credential_the_same_gives_404_and_405(agent):
    agent.request("GET", "/no/such/path").problem(404, "not_found")
    agent.request("PROPFIND", "/v1/sessions").problem(405, "method_not_allowed")


@pytest.mark.parametrize("value", ["Bearer wrong", "Bearer", "Bearer ", "Basic dXNlcjpwYXNz", "", "Bearer a b"])
def test_a_wrong_authorization_is_401(agent, value):
    answer = agent.request("GET", "/v1/sessions", headers={"Authorization": value})
    answer.problem(401, "unauthenticated")
    assert "wrong" not in answer.text


def test_a_token_with_a_wrong_end_or_a_piece_of_it_is_401(agent):
    for token in (agent.token + "0", agent.token[:-1], agent.token.upper() + "A", agent.token + "\t0"):
        assert status(agent, token) == 401, token


def test_x_skiff_token_replaces_the_header_that_a_proxy_strips(agent):
    answer = agent.request("GET", "/v1/sessions", headers={"Authorization": None, "X-Skiff-Token": agent.token})
    assert answer.status == 200
    answer = agent.request("GET", "/v1/sessions", headers={"Authorization": None, "X-Skiff-Token": "wrong"})
    assert answer.status == 401


def test_a_websocket_client_without_headers_sends_the_token_as_a_subprotocol(agent):
    bearer = "skiff.bearer." + b64url(agent.token.encode())
    nobody = {"Authorization": None}
    with agent.ws("/v1/connect", ["skiff.v1.json", bearer], nobody) as ws:
        assert ws.subprotocol == "skiff.v1.json"
    with agent.ws("/v1/connect", [bearer], nobody) as ws:
        assert ws.subprotocol is None  # never echoed
    for protocols in (["skiff.v1.json"], ["skiff.bearer." + b64url(b"wrong")], ["skiff.bearer.%%"]):
        with pytest.raises((websockets.InvalidStatusCode, websockets.InvalidMessage)) as refusal:
            agent.ws("/v1/connect", protocols, nobody)
        assert refusal.value.status_code == 401


def test_a_scope_limits_what_a_token_may_do(start_agent, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("reader read\nrunner exec\nboth read,exec\nboss admin\nall\n")
    agent = start_agent("--token-file", tokens, credential=False)
    assert status(agent, "reader") == 200
    refused = agent.request(*RUN, json={"command": "true"}, token="reader")
    refused.problem(403, "insufficient_scope")
    for token in ("runner", "both", "all"):
        assert status(agent, token, RUN) == 200, token
    for token in ("both", "all"):
        assert status(agent, token) == 200, token
    for token in ("reader", "runner"):
        agent.request("POST", "/v1/init", json={}, token=token).problem(403, "insufficient_scope")
    with pytest.raises(websockets.InvalidStatusCode) as refusal:
        agent.ws(query("/v1/sessions/default/run", command="true"), token="reader")
    assert refusal.value.status_code == 403


def test_set_uid_bits_of_an_archive_are_for_admins(start_agent, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("both read,exec\nall\n")
    agent = start_agent("--token-file", tokens, credential=False)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo("program")
        member.mode = 0o6755
        archive.addfile(member)
    for token, mode in (("both", 0o755), ("all", 0o6755)):
        done = agent.request("PUT", f"/v1/files:archive?path={token}", body=packed.getvalue(), token=token,
                             headers={"Content-Type": "application/x-tar"})
        assert done.status == 200, done
        assert stat.S_IMODE((agent.root / token / "program").stat().st_mode) == mode, token


def test_a_token_bound_to_a_session_opens_no_other(start_agent, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("all\nbound read,exec mine\n")
    agent = start_agent("--token-file", tokens, credential=False)
    for sid in ("mine", "other"):
        assert agent.request("PUT", f"/v1/sessions/{sid}", json={}, token="all").status == 201
    assert status(agent, "bound", ("POST", "/v1/sessions/mine/commands")) == 200
    assert status(agent, "bound", ("GET", "/v1/sessions/mine")) == 200
    for route in (("POST", "/v1/sessions/other/commands"), ("GET", "/v1/sessions/other"), RUN,
                  ("GET", "/v1/sessions/other/commands")):
        body = {"command": "true"} if route[0] == "POST" else None
        agent.request(*route, token="bound", json=body).problem(403, "insufficient_scope")


def test_a_token_bound_to_a_session_sees_its_own_ports_alone(start_agent):
    agent = start_agent(tokens=("bound read,exec mine",))
    listen = "import socket, time; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); time.sleep(300)"
    ports = {}
    for sid in ("mine", "other"):
        agent.session(id=sid)
        cid = agent.start(argv=["/usr/bin/python3", "-c", listen], session=sid)["id"]
        with agent.stream("GET", f"/v1/sessions/{sid}/commands/{cid}/output?follow=true") as stream:
            ports[sid] = int(next(event for event in stream.events() if event["type"] == "output")["data"])

    def told(token):
        """{port: session that the token is told}"""
        return {item["port"]: item.get("session") for item in
                agent.request("GET", "/v1/ports", token=token).json()["items"]}

    everything = told(agent.token)
    assert {ports[sid]: sid for sid in ports}.items() <= everything.items()
    assert agent.port in everything
    assert told("bound") == {ports["mine"]: "mine"}


def test_a_token_that_was_signed_for_this_sandbox_is_accepted(signed, signer):
    assert status(signed, signer.token(), RUN) == 200
    assert status(signed, signer.token(scope="read")) == 200
    assert status(signed, signer.token(scope="read"), RUN) == 403
    assert status(signed, signer.token(scope="read exec"), RUN) == 200
    assert status(signed, signer.token(aud=["other", "box-1"]), RUN) == 200


@pytest.mark.parametrize("claims", [
    {"exp": 1_000_000_000}, {"exp": None}, {"exp": "soon"}, {"aud": "box-2"}, {"aud": None}, {"aud": ["box-2"]},
    {"nbf": 4_000_000_000},
], ids=str)
def test_a_signed_token_with_wrong_claims_is_401(signed, signer, claims):
    assert status(signed, signer.token(**claims)) == 401


@pytest.mark.parametrize("header", [{"alg": "none"}, {"alg": "HS256"}, {"alg": "eddsa"}, {"alg": "RS256"},
                                    {"crit": ["x"], "x": 1}], ids=str)
def test_a_signed_token_with_another_algorithm_is_401(signed, signer, header):
    token = signer.token(header=header)
    assert status(signed, token) == 401
    if header["alg" if "alg" in header else "crit"] == "none":
        assert status(signed, token.rpartition(".")[0] + ".") == 401


def test_a_signed_token_without_a_scope_may_at_most_read(signed, signer):
    assert status(signed, signer.token(scope=None), RUN) == 403
    assert status(signed, signer.token(scope="unheard-of"), RUN) == 403


def test_a_tampered_signed_token_is_401(signed, signer):
    header, claims, signature = signer.token().split(".")
    other = b64url(json.dumps({"aud": "box-1", "exp": 4_000_000_000, "scope": "admin"}).encode())
    flipped = ("A" if signature[0] != "A" else "B") + signature[1:]
    for token in (f"{header}.{other}.{signature}", f"{header}.{claims}.{flipped}", f"{header}.{claims}.",
                  f"{header}.{claims}", f"{header}.{claims}.{signature}.x", f"{header}..{signature}", "..",
                  f"{header}.{claims}.{signature[:-4]}"):
        assert status(signed, token) == 401, token


def test_a_token_signed_with_another_key_is_401(signed, tmp_path):
    folder = tmp_path / "foreign"
    folder.mkdir()
    assert status(signed, Signer(folder).token()) == 401


def test_an_unknown_host_is_421_unless_it_is_allowed(start_agent):
    agent = start_agent("--allowed-host", "box.example")
    for host in ("evil.example", f"evil.example:{agent.port}", "127.0.0.1.evil.example"):
        agent.request("GET", "/v1/sessions", headers={"Host": host}).problem(421, "host_not_allowed")
    for host in ("localhost", f"localhost:{agent.port}", "127.0.0.1", agent.host, f"[::1]:{agent.port}", "box.example"):
        assert agent.request("GET", "/v1/sessions", headers={"Host": host}).status == 200, host


NOBODY = {"Authorization": None}
PREFLIGHT = {"Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "authorization,content-type"}


def cors(answer):
    return {name.lower(): value for name, value in answer.headers.items() if name.lower().startswith("access-control-")}


def test_pages_of_an_allowed_origin_may_use_the_api(start_agent):
    agent = start_agent("--allowed-origin", "https://app.example")
    origin = {"Origin": "https://app.example"}
    asked = agent.request("OPTIONS", "/v1/files/f", headers={**origin, **PREFLIGHT, **NOBODY})
    assert (asked.status, asked.body) == (204, b"")
    assert cors(asked) == {"access-control-allow-origin": "https://app.example", "access-control-expose-headers": "*",
                           "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
                           "access-control-allow-headers": "authorization,content-type", "access-control-max-age": "600"}
    assert agent.request("OPTIONS", "/no/such/path", headers={**origin, **PREFLIGHT, **NOBODY}).status == 204
    for answer in (agent.request("PUT", "/v1/files/f", body=b"x", headers=origin), agent.request("GET", "/v1/files/f", headers=origin),
                   agent.request("GET", "/no/such/path", headers=origin), agent.request("GET", "/v1/files/f", headers=origin, token="no")):
        assert cors(answer) == {"access-control-allow-origin": "https://app.example", "access-control-expose-headers": "*"}, answer
        assert answer.headers["Vary"] == "Origin"
    # Without what a browser asks with it is a method that there is not.
    agent.request("OPTIONS", "/v1/files/f", headers=origin).problem(405)
    agent.request("OPTIONS", "/v1/files/f", headers={**origin, **NOBODY}).problem(401)


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "https://app.example.evil.example", "http://app.example",
                                    "https://app.example:8443", "*", ""])
def test_other_pages_are_told_nothing(start_agent, origin):
    agent = start_agent("--allowed-origin", "https://app.example")
    agent.request("OPTIONS", "/v1/files/f", headers={"Origin": origin, **PREFLIGHT, **NOBODY}).problem(401)
    for path in ("/v1/sessions", "/healthz", "/no/such/path"):
        answer = agent.request("GET", path, headers={"Origin": origin})
        assert not cors(answer) and answer.headers["Vary"] == "Origin"
    agent.request("OPTIONS", "/v1/files/f", headers={"Origin": "https://app.example", "Host": "evil.example", **PREFLIGHT}).problem(421)


def test_without_allowed_origins_nothing_is_said_of_any(agent):
    for headers in ({}, {"Origin": "https://app.example"}, {"Origin": f"http://{agent.host}"}):
        answer = agent.request("GET", "/v1/sessions", headers=headers)
        assert not cors(answer) and "Vary" not in answer.headers
    agent.request("OPTIONS", "/v1/files/f", headers={"Origin": "https://app.example", **PREFLIGHT, **NOBODY}).problem(401)


def test_a_server_on_a_port_says_itself_whose_pages_may_use_it(start_agent):
    agent = start_agent("--allowed-origin", "https://app.example")
    with Upstream(answering(b"x", "200 OK", "Access-Control-Allow-Origin: https://other.example")) as upstream:
        answer = agent.request("GET", upstream.path(), headers={"Origin": "https://other.example"})
        assert cors(answer) == {"access-control-allow-origin": "https://other.example"}
        assert agent.request("PUT", upstream.path(), headers={"Origin": "https://evil.example"}).status == 200
        agent.request("OPTIONS", upstream.path(), headers={"Origin": "https://other.example", **PREFLIGHT, **NOBODY}).problem(401)


def test_pages_of_an_allowed_origin_may_use_every_port(start_agent):
    agent = start_agent("--allowed-origin", "https://app.example")
    origin, permission = {"Origin": "https://app.example"}, {"access-control-allow-origin": "https://app.example",
                                                             "access-control-expose-headers": "*"}
    for own in ("X: y", "Access-Control-Allow-Origin: *", "Access-Control-Expose-Headers: X"):
        with Upstream(answering(b"x", "200 OK", own)) as upstream:
            asked = agent.request("OPTIONS", upstream.path(), headers={**origin, **PREFLIGHT, **NOBODY})
            assert (asked.status, cors(asked)["access-control-allow-headers"]) == (204, "authorization,content-type")
            for method in ("GET", "PUT"):
                answer = agent.request(method, upstream.path(), headers=origin)
                assert (answer.status, cors(answer)) == (200, permission), own
        agent.request("GET", upstream.path(), headers={**origin, **NOBODY}).problem(401)
        assert cors(agent.request("GET", upstream.path(), headers=origin)) == permission  # nothing listens there any more


def test_a_foreign_origin_can_neither_change_anything_nor_open_a_websocket(start_agent):
    agent = start_agent("--allowed-origin", "https://app.example")
    for origin in ("http://evil.example", "null", f"https://{agent.host}", "https://app.example.evil.example"):
        refused = agent.request(*RUN, json={"command": "true"}, headers={"Origin": origin})
        refused.problem(403, "origin_not_allowed")
        with pytest.raises(websockets.InvalidStatusCode) as refusal:
            agent.ws("/v1/connect", headers={"Origin": origin})
        assert refusal.value.status_code == 403
    for origin in (f"http://{agent.host}", "https://app.example"):
        assert agent.request(*RUN, json={"command": "true"}, headers={"Origin": origin}).status == 200, origin
        with agent.ws("/v1/connect", headers={"Origin": origin}):
            pass


def test_no_credential_comes_back_in_an_answer_or_in_the_log(start_agent, signer):
    agent = start_agent("--public-key", signer.public, "--sandbox-id", "box-1")
    wrong, signed = "wrong-token-b1946ac9", signer.token()
    answers = [
        agent.request("GET", "/v1/sessions", token=wrong),
        agent.request("GET", f"/v1/sessions/nope?token={wrong}"),
        agent.request("GET", "/v1/sessions/nope", token=signed),
        agent.request("POST", "/v1/commands", json={"comand": "x"}),
        agent.request("GET", "/no/such/route"),
        agent.request("GET", "/v1/sessions/default"),
        agent.request("GET", "/metrics"),
    ]
    for answer in answers:
        everything = answer.text + str(answer.headers.items())
        for secret in (agent.token, signed):
            assert secret not in everything, answer
    assert wrong not in answers[0].text
    assert agent.terminate() == 143
    for secret in (agent.token, wrong, signed, signed.split(".")[2]):
        assert secret not in agent.log()


@pytest.mark.parametrize("fields", [{"Authorization": "Bearer "}, {"Authorization": "Bearer"}, {"Authorization": None, "X-Skiff-Token": ""}, {"Authorization": None}])
def test_an_empty_credential_counts_as_a_missing_one(agent, fields):
    """A shell sends one for a variable that is not set."""
    answer = agent.request("GET", "/v1/sessions", headers=fields, token=None)
    assert answer.status == 401 and answer.json()["detail"] == "a credential is needed", answer.json()
