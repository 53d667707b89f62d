"""Attacks from within a box on a secret that its proxy puts into requests. The outcome of each is written here."""

import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

import secret_origin
from box_secrets import FOR_GIT, TO, box, get, keep, origin, say  # noqa: F401
from boxes import as_user, skiff  # noqa: F401
from egressing import log_of, outside, proxies, through  # noqa: F401
from waiting import until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a laptop and an internet")

OTHER = f"{secret_origin.HOST}:{secret_origin.OTHER}"


def status(answer):
    return int(answer.split(" ")[1])


def test_requests_that_are_refused(box, origin):
    wanted = [
        (421, get("/echo", host="evil.org")), (421, get("/echo", host=secret_origin.HOST)), (421, get("/echo", host=OTHER)),
        (400, f"GET /echo HTTP/1.1\r\nHost: {TO}\r\nHost: {TO}\r\n\r\n"), (400, get(f"https://{TO}/echo")), (400, get("https://evil.org/echo", host="evil.org")),
        (400, get("/echo", "Authorization: Basic eA==", "Authorization: Bearer x")), (405, get("/echo", method="TRACE")), (400, f"CONNECT {TO} HTTP/1.1\r\nHost: {TO}\r\n\r\n"), (400, get("*", method="OPTIONS")),
        (403, get("/echo", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==")),
        # Two readers could disagree about these.
        (400, get("/echo", "Content-Length: 5", "Transfer-Encoding: chunked") + "0\r\n\r\n"), (400, get("/echo", "Content-Length: 5", "Content-Length: 6") + "hello"),
        (400, get("/echo", "Transfer-Encoding : chunked") + "0\r\n\r\n"), (400, get("/echo", "X: y\r\n folded")), (400, get("/echo", "Transfer-Encoding: gzip, chunked")),
        (400, get("/echo", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked") + "0\r\n\r\n"), (400, get("/echo", "X: a\nY: b")),
        (400, get("/echo", "Content-Length: +5") + "hello"), (431, get("/echo", "X: " + "x" * 20000)),
    ]
    # None reaches the server, and the connection ends: what follows on it is not served.
    follows = get("/follows")
    found = say(box, *(text + follows for _, text in wanted))
    assert [status(one) for one in found] == [one for one, _ in wanted]
    assert all(one.count("HTTP/1.1 ") == 1 for one in found)
    assert origin.seen() == []
    # A kept connection does not lend its host to the next request.
    first = f"GET /echo HTTP/1.1\r\nHost: {TO}\r\n\r\n"
    (both,) = say(box, first + get("/echo", host="evil.org"))
    assert [part.split(" ")[0] for part in both.split("HTTP/1.1 ")[1:]] == ["200", "421"]


def test_what_the_client_sends_beside_the_secret(box, origin):
    (said,) = say(box, get("/echo?query", "authorization: Basic bWluZQ==", "Authorization_: x", "Connection: close, Authorization",
                           "Upgrade: h2c", "HTTP2-Settings: AAMAAABk", "Range: bytes=0-9", "Accept-Encoding: gzip, br", "TE: trailers", "Proxy-Foo: 1", "Keep-Alive: 5"))
    assert status(said) == 200
    lines = said.lower().split("\r\n\r\n")[1].splitlines()
    assert lines[0] == "get /echo?query" and [line for line in lines if line.startswith("authorization:")] != []
    assert sum(line.startswith("authorization:") for line in lines) == 1 and "mine" not in said and "bWluZQ" not in said
    assert "accept-encoding: identity" in lines
    assert not [line for line in lines if line.startswith(("upgrade", "range", "proxy-", "keep-alive"))]


def test_an_echo_is_masked(box, origin):
    echo, field, single, encoded = say(box, get("/echo"), get("/field"), get("/bytes"), get("/gzip"))
    for one in (echo, field, single):
        assert status(one) == 200 and origin.token not in one and "****" in one
        assert origin.token[:12] not in one and origin.token[-12:] not in one
    assert "token " + "*" * len(origin.token) + "\n" in echo
    assert "X-Token: <" + "*" * len(origin.token) + ">" in field
    assert "Basic *" in echo and "Basic *" in field
    assert status(encoded) == 502 and "X-Skiff-Egress: encoded_answer" in encoded
    # The query could name it; the log has neither.
    assert origin.token not in json.dumps(log_of(box))


def test_a_secret_for_some_requests_is_used_for_no_other(skiff, origin):
    keep(skiff, origin, more=(*FOR_GIT, "--allow", "GET /echo", "--allow", "POST /repos/acme/**"))
    skiff.up("box", "--egress-secret", "git")
    wanted = [
        (403, get("/gists", method="POST")), (403, get("/echo", method="POST")), (403, get("/echo/", method="GET")), (403, get("/Echo")), (403, get("/repos/other/x", method="POST")),
        (403, get("/repos/acme", method="POST")), (403, get("/repos/acme/x", method="DELETE")),
        *((400, get(path, method="POST")) for path in (
            "/repos/acme/../other", "/repos/acme/%2e%2e/other", "/repos/acme/.%2E/other", "/repos/acme/..%2fother", "/repos/acme/..%5cother", "/repos/acme\\..\\other",
            "/repos//acme/x", "//repos/acme/x", "/repos/acme/%252e%252e/other", "/repos/acme/..;/other", "/repos/acme/%00", "/repos/acme/%zz", "/repos/acme/./x")),
    ]
    found = say(skiff, *(text for _, text in wanted))
    assert [status(one) for one in found] == [one for one, _ in wanted]
    assert origin.seen() == []
    assert {line["code"] for line in log_of(skiff)["items"] if line["verdict"] == "denied"} == {"request_not_allowed", "bad_path"}
    assert any("POST /gists" in line.get("detail", "") for line in log_of(skiff)["items"])
    # A field that makes another method of it does not pass.
    fields = [f"{name}: DELETE" for name in ("X-HTTP-Method-Override", "x-http-method", "X-Method-Override", "X_HTTP_Method_Override")]
    (said,) = say(skiff, get("/echo?_method=GET", *fields))
    assert status(said) == 200 and "DELETE" not in said
    (below,) = say(skiff, get("/repos/acme/app/issues", method="POST"))
    assert status(below) == 200
    # Without a rule all pass, and from the next request on.
    skiff("secret", "rm", "git")
    keep(skiff, origin)
    (said,) = say(skiff, get("/echo", method="POST"))
    assert status(said) == 200


def test_a_body_that_its_server_does_not_read_is_no_request(skiff, origin):
    keep(skiff, origin, more=(*FOR_GIT, "--allow", "GET /lazy", "--allow", "GET /echo"))
    skiff.up("box", "--egress-secret", "git")
    ends_open = f"POST /forbidden HTTP/1.1\r\nHost: {TO}\r\nContent-Length: 0\r\nX-Rest: "
    for framing, body in ((f"Content-Length: {len(ends_open)}", ends_open), ("Transfer-Encoding: chunked", f"{len(ends_open):x}\r\n{ends_open}\r\n0\r\n\r\n")):
        first = get("/lazy", framing).replace("Connection: close\r\n", "") + body
        (said,) = say(skiff, first + get("/echo"))
        assert said.count("HTTP/1.1 200") == 2
    assert [line for line in origin.seen() if "forbidden" in line] == []


WEB_SOCKET = get("/ws", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==").replace("Connection: close", "Connection: Upgrade")


def test_a_web_socket_passes_only_if_the_secret_is_for_it(skiff, origin):
    keep(skiff, origin)
    skiff.up("box", "--egress-secret", "git")
    (refused,) = say(skiff, WEB_SOCKET + "hello")
    assert status(refused) == 403 and "upgrade_not_allowed" in refused and origin.seen() == []
    keep(skiff, origin, more=(*FOR_GIT, "--websocket", "--allow", "GET /ws"))
    (passed,) = say(skiff, WEB_SOCKET + "hello")
    assert status(passed) == 101 and passed.endswith("\r\n\r\nhello")
    # Its head is masked; what it carries is not looked at.
    assert "X-Echo: Basic ***" in passed and origin.token not in passed
    until(lambda: [one["received"] for one in log_of(skiff)["items"] if one["verdict"] == "ended" and one["status"] == 101 and one["received"] > 5])
    # The rules hold for it, too, and another protocol is none of it.
    (elsewhere, other) = say(skiff, WEB_SOCKET.replace("/ws", "/echo"), WEB_SOCKET.replace("websocket", "h2c", 1))
    assert status(elsewhere) == 403 and "request_not_allowed" in elsewhere
    assert status(other) != 101
    # A rule that goes cuts it.
    skiff("cp", "-q", os.path.join(os.path.dirname(secret_origin.__file__), "box_probes/in_tls.py"), "box:/tmp/in_tls.py")
    stays = skiff.start("exec", "box", "--", "python3", "/tmp/in_tls.py", TO, json.dumps([WEB_SOCKET]))
    until(lambda: [one for one in log_of(skiff)["items"] if one["verdict"] == "allowed" and one.get("path") == "/ws"][1:])
    skiff("network", "box", "--egress", f"-{TO}")
    assert stays.wait(60) == 0


def test_uploads_are_limited(skiff, origin):
    keep(skiff, origin, more=(*FOR_GIT, "--upload-limit", "1000"))
    skiff.up("box", "--egress-secret", "git")
    chunk = "3e8\r\n" + "x" * 1000 + "\r\n"
    small, large, chunked, many = say(
        skiff, get("/echo", "Content-Length: 1000", method="POST") + "x" * 1000, get("/echo", "Content-Length: 1001", method="POST") + "x" * 1001,
        get("/echo", "Transfer-Encoding: chunked", method="POST") + chunk + "0\r\n\r\n", get("/echo", "Transfer-Encoding: chunked", method="POST") + chunk * 3 + "0\r\n\r\n")
    assert [status(one) for one in (small, large, chunked, many)] == [200, 413, 200, 413]
    assert all("X-Skiff-Egress: upload_too_large" in one for one in (large, many))


def test_a_placeholder_is_replaced_in_its_field_alone(skiff, origin):
    keep(skiff, origin, more=("--placeholder", "GIT_TOKEN"))
    keep(skiff, origin, name="other", hosts=(OTHER,), more=("--placeholder", "OTHER=other-placeholder-0123456789"))
    skiff.up("box", "--egress-secret", "git", "--egress-secret", "other")
    assert skiff.sh("printf %s $OTHER") == "other-placeholder-0123456789"
    placeholder = skiff.sh("printf %s $GIT_TOKEN")
    assert placeholder.startswith("skiff-placeholder-") and origin.token not in placeholder
    pair = base64.b64encode(f"{secret_origin.USER}:{placeholder}".encode()).decode()
    right, bare, bearer = say(skiff, get(f"/echo?{placeholder}", f"Authorization: Basic {pair}", f"X-Api-Key: {placeholder}"), get("/echo"),
                              get("/echo", f"Authorization: token {placeholder}"))
    assert [status(one) for one in (right, bare, bearer)] == [200, 401, 401]
    # Elsewhere it stays what it is, and the secret is masked however it was sent.
    assert f"GET /echo?{placeholder}" in right and f"X-Api-Key: {placeholder}" in right and "Authorization: Basic ***" in right
    assert origin.token not in right and origin.seen()[2] == f"GET /echo token {origin.token}"
    # On its way to another host it is refused, wherever it is.
    elsewhere = say(skiff, get("/x", f"Authorization: Bearer {placeholder}", host=OTHER), get("/x", f"Authorization: Basic {pair}", host=OTHER),
                    get(f"/{placeholder}", host=OTHER), get("/x", f"X: {placeholder}", host=OTHER), to=OTHER)
    assert [status(one) for one in elsewhere] == [403] * 4 and all("placeholder_elsewhere" in one for one in elsewhere)
    assert len(origin.seen()) == 3
    # git finds no credential but the placeholder, and boxes keep it when the value changes.
    assert skiff.sh(f"git ls-remote https://{secret_origin.USER}:$GIT_TOKEN@{TO}/git/app.git && echo fine").endswith("fine\n")
    keep(skiff, origin, value="another-token-0123456789", more=("--placeholder", "GIT_TOKEN"))
    assert status(say(skiff, get("/echo", f"Authorization: Basic {pair}"))[0]) == 401
    assert json.loads((skiff.state / "skiff/egress-secrets/git.json").read_text())["placeholder"] == placeholder


def test_a_host_without_a_secret_gets_none_of_another(skiff, origin):
    keep(skiff, origin, name="docs", more=("--no-value", "--allow", "* /echo", "--upload-limit", "4"))
    keep(skiff, origin, name="other", hosts=(OTHER,), more=("--placeholder", "OTHER=other-placeholder-0123456789"))
    skiff.up("box", "--egress-secret", "docs", "--egress-secret", "other")
    placeholder = "Authorization: Bearer other-placeholder-0123456789"
    large = get("/echo", "Transfer-Encoding: chunked", method="POST") + "5\r\nhello\r\n0\r\n\r\n"
    found = say(skiff, get("/echo"), get("/echo", placeholder), get("/ech%6f"), get("/field"), get("/echo", method="TRACE"), get("/echo", host=OTHER),
                get("/echo", "Content-Length: 5", method="PUT") + "hello", WEB_SOCKET.replace("/ws", "/echo"))
    assert [status(one) for one in found] == [401, 403, 401, 403, 405, 421, 413, 403]
    assert status(say(skiff, large)[0]) == 413
    # The server has seen no credential, and no body that is too large.
    assert set(origin.seen()) <= {"GET /echo ", "GET /ech%6f "}


def test_only_the_right_server_gets_it(skiff, origin):
    keep(skiff, origin, hosts=(TO, OTHER))
    skiff.up("box", "--egress-secret", "git")
    (wrong,) = say(skiff, get("/echo", host=OTHER), to=OTHER)
    assert status(wrong) == 502 and "X-Skiff-Egress: upstream_tls" in wrong
    # Without its CA the server is nobody.
    skiff("secret", "set", "git", "--host", TO, "--basic", "x-access-token", typed=origin.token.encode())
    (unknown,) = say(skiff, get("/echo"))
    assert status(unknown) == 502 and "upstream_tls" in unknown
    # The secret is for this host no longer.
    (no_longer,) = say(skiff, get("/echo", host=OTHER), to=OTHER)
    assert status(no_longer) == 503 and "secret_missing" in no_longer
    assert origin.seen() == []
    # Other hosts are spliced: their TLS is their own, and nothing is put into it.
    skiff("network", "box", "--egress", "+pypi.org")
    assert through(skiff, {"to": "pypi.org:443"}) == [{"status": 200, "said": "pypi.org 443 hello"}]
    # A rule can be taken away; the secret goes with it.
    skiff("network", "box", "--egress", f"-{TO}")
    (refused,) = say(skiff, get("/echo"))
    assert refused.startswith("HTTP/1.1 403") and "not_allowed" in refused


def test_protocols_and_the_certificate(box, origin):
    box("cp", "-q", os.path.join(os.path.dirname(secret_origin.__file__), "box_probes/in_tls.py"), "box:/tmp/in_tls.py")
    both, h2, old = json.loads(box("exec", "box", "--", "python3", "/tmp/in_tls.py", TO, '"protocols"')[0])
    assert both == "http/1.1" and h2.startswith("no TLS") and old.startswith("no TLS")
    shown = box.sh("openssl x509 -in /.skiff/ca.pem -noout -text")
    assert "Name Constraints: critical" in shown and f"DNS:{secret_origin.HOST}" in shown and "CA:TRUE, pathlen:0" in shown
    assert "IP:0.0.0.0/0.0.0.0" in shown and box.sh("grep -c 'PRIVATE KEY' /.skiff/ca.pem /.skiff/ca-bundle.pem || true").split() == ["/.skiff/ca.pem:0", "/.skiff/ca-bundle.pem:0"]
    # The key is in the proxy alone, whose memory the user's other programs cannot read.
    assert not [path for path in (box.sandboxes / "box").rglob("*") if path.is_file() and b"PRIVATE KEY" in path.read_bytes()]


NEIGHBOUR = """
import os, socket, sys
def reached(path):
    try:
        if os.path.realpath(path).endswith(".sock"):
            with socket.socket(socket.AF_UNIX) as one:
                one.connect(path)
        else:
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        return True
    except OSError:
        return False
print([path for path in sys.stdin.read().split("\\n") if path and reached(path)])
"""


def test_another_user_of_the_machine_reaches_nothing_of_it(box, origin):
    """Its sockets, logs, rules and secrets, and what is in the memory of its proxy."""
    places = [str(path) for path in (box.state / "skiff").rglob("*") if "/root/" not in str(path)]
    names = {os.path.basename(path) for path in places}
    assert {"egress-control.sock", "egress.json", "egress-secrets.json", "git.json", "egress-ca.pem"} <= names, names
    (pid,) = proxies(box)
    places += [f"/proc/{pid}/{name}" for name in ("environ", "mem", "maps", "fd/0", "root", "cwd")]
    # The directories above are as open as a home may be.
    temporary = pathlib.Path(tempfile.gettempdir())
    for folder in (box.state, *[one for one in box.state.parents if one != temporary and one.is_relative_to(temporary)]):
        folder.chmod(folder.stat().st_mode | 0o755)
    control = box.state / "control"
    control.write_text("open to all")
    other = subprocess.run([*as_user(51_777), sys.executable, "-c", NEIGHBOUR], input="\n".join([*places, str(control)]),
                           stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    assert other.stdout == f"[{str(control)!r}]\n"
