"""HTTP itself: problems, limits, framing that must be refused, headers, long answers."""

import json
import re

import pytest

from waiting import until
from wire import Stream, parse, request_bytes

KIB, MIB = 1024, 1024 * 1024


def test_every_error_is_a_problem_document_with_a_stable_code(agent):
    document = agent.request("GET", "/v1/sessions/nope").problem(404, "session_not_found")
    assert {"type", "title", "status", "detail", "instance", "code"} <= document.keys()
    agent.request("GET", "/v1/commands/nope").problem(404, "command_not_found")
    agent.request("GET", "/v1/sessions/-bad-").problem(400)


@pytest.mark.parametrize("body", [b"{", b"", b"[]", b'"x"', b"nul", b'{"command":"true"}x', b'{"command":"\xff"}',
                                  b'{"a":' * 100_000], ids=lambda body: repr(body[:20]))
def test_a_body_that_is_not_a_json_object_is_400(agent, body):
    agent.request("POST", "/v1/commands", body=body, headers={"Content-Type": "application/json"}).problem(400)


@pytest.mark.parametrize("field, value", [("command", 7), ("argv", "x"), ("argv", []), ("argv", ["a", 1]),
                                          ("mode", "later"),
                                          ("timeout_ms", "1"), ("timeout_ms", -1), ("tty", True), ("env", {"A": 1}),
                                          ("id", "../x"), ("output", {"overflow": "lose"}), ("stdin_base64", "%%%")])
def test_a_field_of_the_wrong_kind_is_400_and_named(agent, field, value):
    body = {"argv": ["true"], field: value} if field != "command" else {"command": value}
    answer = agent.request("POST", "/v1/commands", json=body)
    answer.problem(400)
    assert field in answer.text


@pytest.mark.parametrize("body, named", [
    ({"command": "true", "comand": 1}, "comand"),
    ({"command": "true", "output": {"keep_byte": 1}}, "keep_byte"),
    ({"command": "true", "tty": {"cols": 80, "rows": 24, "depth": 8}}, "depth"),
])
def test_an_unknown_field_is_400_and_named(agent, body, named):
    assert named in json.dumps(agent.request("POST", "/v1/commands", json=body).problem(400, "unknown_field"))


def single_parameters(agent):
    """(method, path, name, others) of each query parameter that may be given once, with those that must be there."""
    for path, item in agent.request("GET", "/openapi.json").json()["paths"].items():
        for method, operation in item.items():
            known = [one for one in operation["parameters"] if one["in"] == "query"] if "parameters" in operation else []
            for parameter in known:
                if parameter["schema"].get("type") != "array":
                    yield method.upper(), path, parameter["name"], [
                        one["name"] for one in known if one.get("required") and one is not parameter]


def test_a_query_parameter_that_is_given_twice_is_400_and_named(agent):
    """Two equal values are refused too: a client that sends two parameters of a list may mean either."""
    asked = list(single_parameters(agent))
    assert ("GET", "/v1/sessions/{sid}/commands", "limit", []) in asked
    agent.start("sleep 600", id="c1")
    values = {"sid": "default", "cid": "c1", "path": "f", "port": "9"}
    for method, path, name, others in asked:
        where = f"{path.format(**values)}?{name}=1&{name}=1" + "".join(f"&{other}=1" for other in others)
        for headers in ({}, {"Prefer": "handling=lenient"}):
            refused = agent.request(method, where, json={} if method in ("POST", "PATCH") else None, headers=headers)
            assert refused.problem(400, "invalid_field")["field"] == name, (method, where)
    for path in ("/v1/files:stat?path=a&path=b", "/v1/files:archive?path=.&path=.", "/v1/sessions?label=a%3Db&label=a%3Db"):
        assert agent.request("GET", path).status == 200, path


def test_under_lenient_handling_unknown_fields_are_ignored_and_listed(agent):
    answer = agent.request("POST", "/v1/commands", json={"command": "echo hi", "from_the_future": 1},
                           headers={"Prefer": "handling=lenient"})
    assert answer.status == 200 and answer.json()["stdout"] == "hi\n"
    assert "handling=lenient" in answer.headers["Preference-Applied"]
    assert "from_the_future" in answer.headers["Preference-Applied"]


def test_neither_or_both_of_command_and_argv_is_400(agent):
    agent.request("POST", "/v1/commands", json={}).problem(400)
    agent.request("POST", "/v1/commands", json={"command": "true", "argv": ["true"]}).problem(400)


def test_a_wrong_method_is_405_with_allow(agent):
    answer = agent.request("DELETE", "/v1/sessions")
    answer.problem(405, "method_not_allowed")
    allowed = {method.strip() for method in answer.headers["Allow"].split(",")}
    assert {"GET", "POST"} <= allowed and "DELETE" not in allowed


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", None])
def test_a_json_route_takes_json_only(agent, kind):
    answer = agent.request("POST", "/v1/commands", body=b'{"command":"true"}', headers={"Content-Type": kind})
    assert "-H 'Content-Type: application/json'" in answer.problem(415, "unsupported_media_type")["detail"]


def test_edits_that_do_not_say_that_they_are_json_are_told_how(agent):
    (agent.root / "f").write_text("old")
    answer = agent.request("PATCH", "/v1/files/f", body=b'{"edits":[{"old":"old","new":"new"}]}')
    assert "-H 'Content-Type: application/json'" in answer.problem(415, "unsupported_media_type")["detail"]


def test_json_with_a_charset_is_json(agent):
    answer = agent.request("POST", "/v1/commands", body=b'{"command":"true"}',
                           headers={"Content-Type": "application/json; charset=utf-8"})
    assert answer.status == 200


def test_a_json_body_over_one_mebibyte_is_413_however_it_is_sent(agent):
    with agent.stream("POST", "/v1/commands", headers={
            "Content-Type": "application/json", "Content-Length": str(MIB + 1)}) as stream:
        stream.answer().problem(413, "payload_too_large")  # without waiting for the body
    pieces = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    head = request_bytes("POST", "/v1/commands", agent.headers({
        "Content-Type": "application/json", "Transfer-Encoding": "chunked", "Connection": "close"}))
    assert parse(agent.exchange(head + pieces * 20 + b"0\r\n\r\n")).status == 413
    padded = json.dumps({"command": "true"}).encode().ljust(MIB)
    assert agent.request("POST", "/v1/commands", body=padded,
                         headers={"Content-Type": "application/json"}).status == 200


def test_a_long_target_is_414(agent):
    agent.request("GET", "/v1/sessions?label=" + "x" * (8 * KIB)).problem(414, "target_too_long")
    assert agent.request("GET", "/v1/sessions?label=a%3D" + "x" * (7 * KIB)).status == 200


def test_long_headers_are_431(agent):
    agent.request("GET", "/v1/sessions", headers={"X-Long": "x" * (32 * KIB)}).problem(431, "headers_too_large")
    many = {f"X-Header-{number}": "x" * 100 for number in range(400)}
    assert agent.request("GET", "/v1/sessions", headers=many).status == 431
    assert agent.request("GET", "/v1/sessions", headers={"X-Long": "x" * (24 * KIB)}).status == 200


def test_head_answers_as_get_without_a_body(agent):
    for path in ("/healthz", "/v1/sessions"):
        with agent.stream("HEAD", path) as stream:
            assert stream.status == 200 and stream.read() == b""
            stream.sock.sendall(request_bytes("GET", path, agent.headers()))
            stream.method = "GET"
            stream.next_response()  # and the connection is still in step
            assert stream.status == 200 and stream.read()


def test_http_1_0_is_served_and_closed(agent):
    raw = agent.exchange(request_bytes("GET", "/v1/sessions", agent.headers(), version="1.0"))
    answer = parse(raw)
    assert answer.status == 200 and "Transfer-Encoding" not in answer.headers and answer.json()["items"]
    raw = agent.exchange(request_bytes("POST", "/v1/run", agent.headers({"Content-Length": "7"}), b"echo hi", "1.0"))
    answer = parse(raw)
    assert answer.status == 200 and answer.body == b"hi\n" and "Transfer-Encoding" not in answer.headers


def test_a_client_without_trailers_has_the_exit_in_the_head(agent):
    def ask(script, **headers):
        fields = agent.headers({"Content-Length": str(len(script)), **headers})
        return parse(agent.exchange(request_bytes("POST", "/v1/run", fields, script, "1.0")))

    answer = ask(b"echo hi; exit 4")
    assert (answer.body, answer.headers["X-Exit-Code"], answer.headers["X-Cause"]) == (b"hi\n", "4", "exited")
    assert "Trailer" not in answer.headers
    answer = ask(b"kill -9 $$")
    assert (answer.body, answer.headers["X-Signal"]) == (b"", "SIGKILL") and "X-Exit-Code" not in answer.headers
    # More than is held for it: it comes as it is made, and no head can know the end.
    answer = ask(b"head -c 3000000 /dev/zero; exit 4")
    assert len(answer.body) == 3_000_000 and "X-Exit-Code" not in answer.headers
    answer = ask(b"exit 4", Accept="application/x-ndjson")
    assert b'"exit_code":4' in answer.body and "X-Exit-Code" not in answer.headers


def test_pipelined_requests_are_answered_in_order(agent):
    body = [json.dumps({"command": f"echo {number}"}).encode() for number in range(5)]
    requests = b"".join(
        request_bytes("POST", "/v1/commands",
                      agent.headers({"Content-Type": "application/json", "Content-Length": str(len(b))}), b)
        for b in body)
    with agent.connect() as sock:
        sock.sendall(requests)
        stream = Stream(sock, "POST")
        for number in range(5):
            if number:
                stream.next_response()
            assert json.loads(stream.read())["stdout"] == f"{number}\n"
        stream.close()


def test_a_connection_serves_many_requests_and_closes_when_asked(agent):
    with agent.stream("GET", "/v1/sessions") as stream:
        for _ in range(100):
            assert stream.status == 200 and stream.read()
            stream.sock.sendall(request_bytes("GET", "/v1/sessions", agent.headers()))
            stream.next_response()
        stream.read()
        stream.sock.sendall(request_bytes("GET", "/healthz", agent.headers({"Connection": "close"})))
        stream.next_response()
        stream.read()
        assert stream.file.read() == b""


def test_an_unread_body_is_not_taken_for_the_next_request(agent):
    smuggled = request_bytes("GET", "/healthz", agent.headers({"X-Request-Id": "smuggled"}))
    head = agent.headers({"Content-Length": str(len(smuggled)), "Authorization": None})
    raw = agent.exchange(request_bytes("POST", "/v1/commands", head, smuggled) +
                         request_bytes("GET", "/v1/version", agent.headers({"Connection": "close"})))
    assert raw.startswith(b"HTTP/1.1 401")
    assert b"smuggled" not in raw


def test_expect_100_continue_is_answered_before_the_body(agent):
    with agent.stream("POST", "/v1/run", headers={"Content-Length": "7", "Expect": "100-continue"}) as stream:
        assert stream.status == 100
        stream.sock.sendall(b"echo hi")
        stream.next_response()
        assert stream.status == 200 and stream.read() == b"hi\n"


RUN = "POST /v1/run HTTP/1.1\r\nHost: localhost\r\n{auth}\r\n"
GET = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n{auth}\r\n"
CHUNKED = RUN + "Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("shape", [
    RUN + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    RUN + "Content-Length: 4\r\nContent-Length: 5\r\n\r\ntrue\n",
    RUN + "Content-Length: 4\r\nContent-Length: 4\r\n\r\ntrue",
    RUN + "Content-Length: 4, 4\r\n\r\ntrue",
    RUN + "Content-Length: +4\r\n\r\ntrue",
    RUN + "Content-Length: 0x4\r\n\r\ntrue",
    RUN + "Content-Length: 99999999999999999999\r\n\r\ntrue",
    RUN + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    RUN + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    RUN + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n{auth}\r\n\r\n",
    "GET /healthz HTTP/1.1\r\n{auth}\r\n\r\n",
    GET + "X-Folded: a\r\n b\r\n\r\n",
    "GET /healthz HTTP/1.1\r\nHost : localhost\r\n{auth}\r\n\r\n",
    GET + "X: a\rb\r\n\r\n",
    GET + "X: a\nY: b\r\n\r\n",
    "GET /healthz HTTP/1.1\nHost: localhost\n{auth}\n\n",
    GET + "X: a\0b\r\n\r\n",
    GET + ": empty\r\n\r\n",
    "GET /health z HTTP/1.1\r\nHost: localhost\r\n{auth}\r\n\r\n",
    "GET /healthz\r\nHost: localhost\r\n{auth}\r\n\r\n",
    "\0\1\2\3\r\n\r\n",
    CHUNKED + "4;\r\ntrueX\r\n0\r\n\r\n",
    CHUNKED + "-4\r\ntrue\r\n0\r\n\r\n",
    CHUNKED + "0x4\r\ntrue\r\n0\r\n\r\n",
    CHUNKED + "fffffffffffffffff\r\ntrue\r\n0\r\n\r\n",
    CHUNKED + "4\ntrue\n0\n\n",
    CHUNKED + "\r\ntrue\r\n0\r\n\r\n",
], ids=lambda shape: repr(shape[-40:]))
def test_ambiguous_framing_is_refused_and_the_connection_closed(agent, shape):
    bad = shape.format(auth=f"Authorization: Bearer {agent.token}").encode("latin-1")
    follow = request_bytes("GET", "/v1/version", agent.headers({"Connection": "close"}))
    raw = agent.exchange(bad + follow)
    assert re.match(rb"HTTP/1\.[01] (400|501|505) ", raw), raw[:300]
    assert len(re.findall(rb"HTTP/1\.[01] \d{3} ", raw)) == 1, raw  # what came after it was not answered
    assert agent.request("GET", "/healthz").status == 200


@pytest.mark.parametrize("fields, why", [
    (["Content-Length: 4", "Transfer-Encoding: chunked"], "Content-Length and Transfer-Encoding are given together"),
    (["Transfer-Encoding: chunked", "Content-Length: 4"], "Content-Length and Transfer-Encoding are given together"),
    (["Content-Length: 4", "Content-Length: 5"], "Content-Length is repeated"), (["Content-Length: 99999999999999999999"], "Content-Length is too large"),
    (["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], "Transfer-Encoding is repeated")], ids=str)
def test_what_is_wrong_with_the_length_of_a_body_is_said(agent, fields, why):
    head = RUN.format(auth=f"Authorization: Bearer {agent.token}") + "".join(field + "\r\n" for field in fields) + "\r\n"
    raw = agent.exchange(head.encode())
    assert raw.startswith(b"HTTP/1.1 400 ") and why.encode() in raw, raw


def test_a_request_cut_in_its_middle_harms_nobody(agent):
    head = agent.headers({"Content-Type": "application/json", "Content-Length": "30"})
    whole = request_bytes("POST", "/v1/commands", head,
                          b'{"command": "touch was-run"}  ')
    for cut in range(0, len(whole), 7):
        with agent.connect() as sock:
            sock.sendall(whole[:cut])
    assert agent.request("GET", "/healthz").status == 200
    assert not (agent.root / "was-run").exists()


def test_a_request_in_single_bytes_is_understood(agent):
    whole = request_bytes("GET", "/v1/version", agent.headers({"Connection": "close"}))
    with agent.connect() as sock:
        for byte in whole:
            sock.sendall(bytes([byte]))
        assert Stream(sock).answer().status == 200


def test_every_answer_names_the_request_and_the_instance(start_agent):
    agent = start_agent()
    answers = [agent.request("GET", path) for path in ("/healthz", "/v1/sessions", "/no/such", "/v1/version")]
    assert len({answer.headers["X-Request-Id"] for answer in answers}) == 4
    assert len({answer.headers["X-Skiff-Instance"]
               for answer in answers}) == 1 and answers[0].headers["X-Skiff-Instance"]
    mine = agent.request("GET", "/healthz", headers={"X-Request-Id": "my-request.1"})
    assert mine.headers["X-Request-Id"] == "my-request.1"
    other = start_agent().request("GET", "/healthz")
    assert other.headers["X-Skiff-Instance"] != answers[0].headers["X-Skiff-Instance"]


def test_no_header_field_is_sent_twice(start_agent):
    agent = start_agent("--keepalive", "100ms")
    asked = [("POST", "/v1/commands", {"command": "true", "mode": mode}) for mode in ("wait", "stream", "background")]
    asked.append(("POST", "/v1/commands", {"command": "sleep 0.4"}))  # its head goes out before it has ended
    asked.append(("GET", "/v1/no/such/path", None))
    for method, path, body in asked:
        with agent.stream(method, path, json=body) as stream:
            names = [name.lower() for name in stream.headers.keys()]
            assert len(names) == len(set(names)), (body, names)
            stream.read()


def test_a_traceparent_reaches_the_command_and_the_log(agent):
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    answer = agent.request("POST", "/v1/commands",
                           json={"command": "echo $TRACEPARENT"}, headers={"traceparent": trace})
    assert answer.json()["stdout"].strip().startswith("00-0af7651916cd43dd8448eb211c80319c-")
    until(lambda: "0af7651916cd43dd8448eb211c80319c" in agent.log(), what="the line of the access log")
    bad = agent.request("POST", "/v1/commands",
                        json={"command": "echo [$TRACEPARENT]"}, headers={"traceparent": "nonsense; x"})
    assert "nonsense" not in bad.json()["stdout"]


def test_a_long_wait_and_a_silent_stream_are_kept_alive(start_agent):
    agent = start_agent("--keepalive", "100ms")
    (agent.root / "wait").touch()
    waiting = "while [ -e wait ]; do sleep 0.02; done; echo done"
    with agent.stream("POST", "/v1/commands", json={"command": waiting}) as wait, \
            agent.stream("POST", "/v1/commands", json={"command": waiting, "mode": "stream"}) as ndjson, \
            agent.stream("POST", "/v1/commands", json={"command": waiting, "mode": "stream"},
                         headers={"Accept": "text/event-stream"}) as sse:
        assert wait.status == 200
        pieces = wait.chunks()
        assert next(pieces).strip() == b""  # white space before the body
        events = ndjson.events(keepalives=True)
        assert next(events)["type"] == "started"
        assert next(events) == {"type": "keepalive"}
        records = sse.sse()
        assert any(event is None for _, event, _ in records)  # a comment
        (agent.root / "wait").unlink()
        result = b"".join(pieces)
        assert json.loads(result)["stdout"] == "done\n" and result.endswith(b"}\n")


def test_the_api_describes_itself_and_the_description_is_whole(agent):
    document = agent.request("GET", "/openapi.json").json()
    assert document["openapi"].startswith("3.0")
    for path in ("/v1/run", "/v1/sessions", "/v1/sessions/{sid}", "/v1/sessions/{sid}/commands", "/v1/connect",
                 "/v1/shell"):
        assert path in document["paths"], path
    text = json.dumps(document)
    for reference in set(re.findall(r'"#/([^"]+)"', text)):
        place = document
        for step in reference.split("/"):
            place = place[step]
