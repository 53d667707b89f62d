"""`skiff serve` leads no client to another tenant's sandboxes, to other ports than a preview's, or to an address that
a request names."""

import base64
import datetime
import json
import socket
import time
import urllib.parse

import pytest

from upstream import Upstream, accept_websocket, answering
from wire import Stream, request_bytes

DOMAIN = "sandboxes.localhost"
MISSING = "s00000000000000000000"


@pytest.fixture
def server(serving, key):
    return serving.start("--domain", DOMAIN)


def made(server, key, body=None):
    answer = server.request("POST", "/v1/sandboxes", body or {}, key)
    assert answer.status == 201, answer.body
    return answer.json()["id"]


def websocket(origin=None):
    fields = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
              "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    return {**fields, **({"Origin": origin} if origin else {})}


def ways_to(sandbox, port):
    """(path, fields) of each way to a port of a sandbox."""
    return [(f"/s/{sandbox}/{port}/", {}), ("/", {"Host": f"{port}-{sandbox}.{DOMAIN}"}),
            ("/", {"E2b-Sandbox-Id": sandbox, "E2b-Sandbox-Port": str(port)}),
            ("/", {"X-Sandbox-ID": sandbox, "X-Sandbox-Port": str(port)}),
            ("/", {"X-Sandbox-ID": sandbox, "X-Sandbox-Port": str(port), "X-Sandbox-Namespace": "default"})]


def test_no_way_leads_to_another_tenants_sandbox_or_tells_of_it(server, serving, key):
    other = serving.key("other", "--tenant", "other", "--scope", "admin")
    sandbox = made(server, key, {"on_end": "stop"})
    assert server.request("POST", f"/v1/sandboxes/{sandbox}/stop", key=key).status == 200
    before = server.request("GET", f"/v1/sandboxes/{sandbox}", key=key).json()
    asked = 0
    for port in (7070, 3000, 49983):
        for real, missing in zip(ways_to(sandbox, port), ways_to(MISSING, port)):
            for shown in ({"X-API-Key": other}, {"Authorization": f"Bearer {other}"}, {"X-API-Key": other, **websocket()}):
                answers = [server.request("GET", path, headers={**fields, **shown}) for path, fields in (real, missing)]
                told = [(answer.status, answer.body.replace(name.encode(), b"ID").partition(b'"instance"')[0])
                        for answer, name in zip(answers, (sandbox, MISSING))]
                assert told[0] == told[1] and told[0][0] == (502 if port == 49983 else 404), (port, real, told)
                asked += 1
    assert asked == 45
    # No request has woken it.
    assert server.request("GET", f"/v1/sandboxes/{sandbox}", key=key).json() == before
    assert before["state"] == "stopped"


def accept(connection):
    """A server of WebSockets that says 101 and ends; else it says hello."""
    _, fields = connection.head()
    if "upgrade" in (name.lower() for name, _ in fields):
        connection.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                        f"Sec-WebSocket-Accept: {accept_websocket(fields)}\r\n\r\n")
    else:
        connection.answer(b"hello")
    connection.end()


def test_a_previews_cookie_and_link_open_one_port_of_one_sandbox_to_its_own_pages(server, serving, key):
    sandbox, neighbour = made(server, key), made(server, key)
    with serving.upstream(sandbox, accept) as page:
        preview = server.request("POST", f"/v1/sandboxes/{sandbox}/previews", {"port": page.port}, key).json()
        url = urllib.parse.urlsplit(preview["url"])
        link = f"/?{url.query}"
        first = server.request("GET", link, headers={"Host": url.netloc})
        cookie = {"Cookie": first.headers["Set-Cookie"].split(";")[0]}
        assert "domain" not in first.headers["Set-Cookie"].lower()
        assert "HttpOnly" in first.headers["Set-Cookie"] and "SameSite=Lax" in first.headers["Set-Cookie"]
        others = [f"{page.port + 1}-{sandbox}.{DOMAIN}", f"{page.port}-{neighbour}.{DOMAIN}", f"7070-{sandbox}.{DOMAIN}",
                  f"49983-{sandbox}.{DOMAIN}", f"{page.port}-{sandbox}.other.localhost", DOMAIN, server.host]
        for host in others:
            # A host without a sandbox has no such path; no host accepts the cookie or the link.
            wanted = (401, 404)
            assert server.request("GET", "/page", headers={"Host": host, **cookie}).status in wanted, host
            assert server.request("GET", f"/page?{url.query}", headers={"Host": host}).status in wanted, host
            assert server.request("GET", "/page", headers={"Host": host, **cookie, **websocket()}).status in wanted, host
        for path, fields in ways_to(sandbox, page.port):
            if "Host" not in fields:
                assert server.request("GET", path, headers={**fields, **cookie}).status == 401, (path, fields)
        own = f"http://{url.netloc}"
        for origin in (f"http://{page.port}-{neighbour}.{DOMAIN}", f"http://{DOMAIN}", "https://" + url.netloc, "null",
                       own + ".example.com", f"http://{url.hostname}:1"):
            refused = server.request("GET", "/", headers={"Host": url.netloc, **cookie, **websocket(origin)})
            assert refused.status == 401, origin
        for site in ("same-site", "cross-site"):
            fields = {"Host": url.netloc, **cookie, "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "cors"}
            assert server.request("GET", "/", headers=fields).status == 401, site
        assert server.request("POST", link, b"x", headers={"Host": url.netloc}).status == 400
        assert page.connections == 0
        # And it does open what it is for.
        assert server.request("GET", "/", headers={"Host": url.netloc, **cookie, **websocket(own)}).status == 101
        assert server.request("GET", "/", headers={"Host": url.netloc, **cookie}).body == b"hello"
        assert page.connections == 2


def sent(server, data):
    """The status of the answer to these bytes; None when the connection is closed without one."""
    host, _, port = server.host.partition(":")
    with socket.create_connection((host, int(port)), timeout=30) as sock:
        sock.sendall(data)
        try:
            with Stream(sock) as stream:
                return stream.status
        except ConnectionError:
            return None


def test_no_part_of_a_request_makes_it_dial_an_address(server, serving, key):
    sandbox = made(server, key)
    with Upstream(answering(b"reached")) as trap:
        at = f"127.0.0.1:{trap.port}"
        names = ["127.0.0.1", "localhost", "[::1]", at, f"x@{at}", f"{sandbox}@127.0.0.1", f"{sandbox}.127.0.0.1",
                 "2130706433", "0x7f000001", f"..%2f{sandbox}", "::1", "[::ffff:127.0.0.1]", "0000:0000::0001", "[::1%25lo]", "0",
                 "127.1", "127.0.0.1.nip.io", f"[::1]:{trap.port}", f"%31%32%37.0.0.1:{trap.port}", "localhost%00", "localhost."]
        requests = []
        for name in names:
            for path, fields in ways_to(name, trap.port):
                requests.append(("GET", path, fields))
        redirects = {"X-Forwarded-Host": at, "Forwarded": f"host={at};for={at}", "X-Original-URL": f"http://{at}/",
                     "X-Rewrite-URL": f"http://{at}/", "X-Forwarded-Prefix": f"//{at}", "X-Accel-Redirect": f"//{at}/"}
        for port in (7070, 49983):
            for name, value in redirects.items():
                requests.append(("GET", f"/s/{sandbox}/{port}/nothing", {name: value}))
            for path in (f"/s/{sandbox}/{port}//{at}/", f"/s/{sandbox}/{port}/\\{at}/", f"/s/{sandbox}/{port}/http://{at}/",
                         f"/s/{sandbox}/{port}@{at}/", f"/s/{sandbox}/{port}:{trap.port}/", f"/s/{sandbox}/{port}%40{at}/",
                         f"/s/{sandbox}%40{at}/{port}/", f"/s/{at}/{port}/"):
                requests.append(("GET", path, {}))
        # Texts that a lenient parser of numbers takes for the port of the trap.
        p = trap.port
        for odd in (f"+{p}", f"0{p}", f"{p}.0", f"{p}e0", hex(p), f"{p + 65536}", f"{p},{p}", f"{p};", f"{p} 80", f"{p}/", f"7070:{p}",
                    f"127.0.0.1:{p}", f"[::1]:{p}", f"{p}@127.0.0.1", "%3" + "%3".join(str(p)), f"{p}%00", "\uff13\uff10", ""):
            requests.append(("GET", "/", {"E2b-Sandbox-Id": sandbox, "E2b-Sandbox-Port": odd.encode().decode("latin-1")}))
            requests.append(("GET", "/", {"X-Sandbox-ID": sandbox, "X-Sandbox-Port": odd.encode().decode("latin-1")}))
        # Fields that say where to are not for one connection only, whatever Connection says: what is left leads nowhere else.
        for fields in ({"E2b-Sandbox-Id": MISSING, "E2b-Sandbox-Port": str(p)}, {"X-Sandbox-ID": MISSING, "X-Sandbox-Port": str(p)}):
            named = {"Connection": "close, " + ", ".join(fields)}
            requests += [("GET", "/", {**fields, **named}), ("GET", f"/s/{sandbox}/{p}/", {**fields, **named}),
                         ("GET", "/", {**fields, **named, "Host": f"{p}-{sandbox}.{DOMAIN}"})]
        # Fields that agent-sandbox's own router takes for the address.
        requests.append(("GET", "/nothing", {"X-Sandbox-ID": sandbox, "X-Sandbox-Port": "7070", "X-Sandbox-Pod-IP": "127.0.0.1"}))
        requests.append(("GET", "/", {"X-Sandbox-ID": MISSING, "X-Sandbox-Port": str(trap.port), "X-Sandbox-Pod-IP": "127.0.0.1"}))
        # A whole address, as it is asked of proxies.
        requests += [("GET", f"http://{at}/", {}), ("GET", f"http://{at}/s/{MISSING}/{trap.port}/", {}),
                     ("CONNECT", at, {}), ("GET", "/", {"Host": at}), ("OPTIONS", "*", {"Host": at}),
                     ("GET", f"http://{trap.port}-127.0.0.1.{DOMAIN}/", {}),
                     ("GET", f"http://{at}/nothing", {"Host": f"7070-{sandbox}.{DOMAIN}"})]
        for method, path, fields in requests:
            given = {"Host": server.host, "X-API-Key": key, "Connection": "close", **fields}
            status = sent(server, request_bytes(method, path, given))
            assert status is None or 400 <= status < 600, (method, path, fields, status)
        assert trap.connections == 0
        # The gateway passes on an answer of a server in the sandbox, and does not follow it.
        with serving.upstream(sandbox, answering(b"", "302 Found", f"Location: http://{at}/", f"Refresh: 0; url=http://{at}/")) as page:
            moved = server.request("GET", f"/s/{sandbox}/{page.port}/", key=key)
        assert moved.status == 302 and at in moved.headers["Location"]
        assert trap.connections == 0
        # It is one that would answer.
        with socket.create_connection(("127.0.0.1", trap.port), 30) as sock:
            sock.sendall(request_bytes("GET", "/", {"Host": at}))
            with Stream(sock) as stream:
                assert stream.status == 200


def test_a_preview_opens_nothing_of_the_agent(server, key):
    """A key may create previews of any port; the agent's own API, and its dialects, need more than the right to see ports."""
    sandbox = made(server, key)
    for port in (7070, 49983):
        url = urllib.parse.urlsplit(server.request("POST", f"/v1/sandboxes/{sandbox}/previews", {"port": port}, key).json()["url"])
        first = server.request("GET", f"/?{url.query}", headers={"Host": url.netloc})
        cookie = {"Host": url.netloc, "Cookie": first.headers["Set-Cookie"].split(";")[0]}
        for method, path in (("GET", "/v1/version"), ("POST", "/v1/run"), ("GET", "/envs"), ("POST", "/process.Process/List"),
                             ("POST", "/init"), ("GET", "/v1/ports/7070/v1/version"), ("GET", "/healthz")):
            answer = server.request(method, path, b"{}" if method == "POST" else None, headers=cookie)
            assert answer.status == 403, (port, path, answer.status)


def test_names_that_look_like_paths_name_no_sandbox(server, serving, key):
    """They name a file of the server's state otherwise, or another object of its cluster."""
    sandbox = made(server, key)
    before = sorted(path.name for path in serving.skiff.sandboxes.parent.iterdir())
    for name in ("..", ".", "..%2f", f"..%2flocal%2f{sandbox}", f".%2f{sandbox}", f"{sandbox}%2f", f"{sandbox}%2f..%2f{sandbox}",
                 f"{sandbox}%2frecord.json", ".lock", "%2fetc", f"{sandbox}%0a", f"{sandbox}%20", sandbox.upper(), "a" * 300,
                 f"{sandbox}%3fx", "*", f"{sandbox}%5c..%5cx"):
        for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/stop"), ("POST", "/start"), ("POST", "/tokens"), ("POST", "/extend"),
                             ("POST", "/previews")):
            body = {"port": 80, "ttl_ms": 5000} if path == "/previews" else {"ttl_ms": 5000} if path in ("/extend", "/tokens") else {}
            answer = server.request(method, f"/v1/sandboxes/{name}{path}", body if method == "POST" else None, key)
            assert answer.status == 404, (method, name, path, answer.status, answer.body)
    assert server.request("GET", f"/v1/sandboxes/{sandbox}", key=key).json()["state"] == "running"
    assert sorted(path.name for path in serving.skiff.sandboxes.parent.iterdir()) == before


def test_nothing_that_a_key_makes_outlives_it(server, serving, key):
    """A token for the agent goes past the server, and a link is passed on to others."""
    sandbox = made(server, key)
    short = serving.key("short", "--ttl", "1h")
    now = time.time()
    token = server.request("POST", f"/v1/sandboxes/{sandbox}/tokens", {"ttl_ms": 86_400_000}, short).json()["token"]
    claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    assert claims["exp"] <= now + 3600 + 60, claims
    preview = server.request("POST", f"/v1/sandboxes/{sandbox}/previews", {"port": 80, "ttl_ms": 604_800_000}, short).json()
    ends = datetime.datetime.fromisoformat(preview["expires_at"]).timestamp()
    assert ends <= now + 3600 + 60, preview
    # Previews of a key that does not expire last as long as the client asked.
    preview = server.request("POST", f"/v1/sandboxes/{sandbox}/previews", {"port": 80, "ttl_ms": 604_800_000}, key).json()
    assert datetime.datetime.fromisoformat(preview["expires_at"]).timestamp() > now + 604_000


def test_no_token_allows_more_than_its_key(server, serving, key):
    """A token goes past the server to the agent, so what it may is decided here."""
    sandbox = made(server, key)
    user, chief = serving.key("user", "--scope", "use"), serving.key("chief", "--scope", "admin")
    path = f"/v1/sandboxes/{sandbox}/tokens"
    for scopes in (["admin"], ["read", "admin"], ["", "admin"]):
        for asking in (user, key):
            answer = server.request("POST", path, {"scopes": scopes}, asking)
            assert (answer.status, answer.json()["code"]) == (403, "insufficient_scope"), (scopes, answer.body)
    for scopes in (["read admin"], ["admin read"], ["read", "exec admin"], [" admin"], ["admin "], ["ADMIN"], ["admin\t"],
                   ["read\tadmin"], ["read,admin"], ["admin\u00a0"], [""], [], ["nothing"], ["read\nadmin"],
                   ["read  exec"]):
        for asking in (user, key):
            answer = server.request("POST", path, {"scopes": scopes}, asking)
            assert answer.status == 400, (scopes, answer.status, answer.body)
    for asking, scopes in ((user, ["read", "exec", "ports"]), (chief, ["admin", "read"])):
        token = server.request("POST", path, {"scopes": scopes}, asking).json()["token"]
        claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
        assert claims["scope"].split(" ") == scopes
