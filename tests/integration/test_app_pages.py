"""Web applications behind ports and previews: their own pages are of their own origin for them, and no others are."""

import urllib.parse

import pytest

from upstream import Recorded, Upstream

DOMAIN = "sandboxes.localhost"


def judging(connection):
    """Answers as frameworks judge a page's request: 200 if all of them let it pass, else 403 with the name of one that does not."""
    while asked := connection.head():
        fields = {name.lower(): value for name, value in asked[1]}
        connection.body(asked[1])
        host, origin = fields["host"], fields.get("origin")
        by_proxy = fields.get("x-forwarded-host", host).split(",")[0].strip()
        scheme = fields.get("x-forwarded-proto", "http").split(",")[0].strip()
        verdicts = {
            "Tornado, Streamlit, Jupyter, gorilla": urllib.parse.urlsplit(origin or "").netloc == host,
            "Django": origin == f"http://{host}",
            "Next.js": urllib.parse.urlsplit(origin or "").netloc == by_proxy,
            "Rails": origin == f"{scheme}://{by_proxy}",
        }
        refused = [name for name, passes in verdicts.items() if not passes]
        connection.answer("; ".join(refused).encode(), "403 Forbidden" if refused else "200 OK")


@pytest.fixture
def recorded():
    """(what came, the server)"""
    seen = Recorded()
    with Upstream(seen) as upstream:
        yield seen, upstream


@pytest.fixture
def preview(serving, key):
    """(the server, a sandbox, a function that gives the fields of a browser that has a preview of a port)"""
    server = serving.start("--domain", DOMAIN)
    answer = server.request("POST", "/v1/sandboxes", {}, key)
    sandbox = answer.json()["id"]

    def fields(port):
        made = server.request("POST", f"/v1/sandboxes/{sandbox}/previews", {"port": port}, key)
        link = urllib.parse.urlsplit(made.json()["url"])
        host = f"{port}-{sandbox}.{DOMAIN}:{server.host.rpartition(':')[2]}"
        opened = server.request("GET", f"/?{link.query}", headers={"Host": host})
        assert opened.status == 302, opened.body
        return {"Host": host, "Cookie": opened.headers["Set-Cookie"].partition(";")[0]}, link.query

    return server, sandbox, fields


SOCKET = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}


@pytest.mark.parametrize("fields", [{}, SOCKET], ids=["form", "websocket"])
def test_a_page_below_a_port_is_of_its_servers_origin(agent, fields):
    method = "GET" if fields else "POST"
    with Upstream(judging) as upstream:
        for origin in f"http://{agent.host}", f"HTTP://{agent.host.upper()}":
            answer = agent.request(method, upstream.path("/x"), headers={**fields, "Origin": origin})
            assert answer.status == 200, (origin, answer.body)
        behind = {"X-Forwarded-Host": "app.example", "X-Forwarded-Proto": "https", "X-Forwarded-Prefix": ""}
        answer = agent.request(method, upstream.path("/x"), headers={**fields, **behind, "Origin": "https://app.example"})
        assert answer.status == 200, answer.body


@pytest.mark.parametrize("fields", [{}, SOCKET], ids=["form", "websocket"])
def test_a_page_of_a_preview_is_of_its_servers_origin(preview, fields):
    server, _, browser = preview
    with Upstream(judging) as upstream:
        shown, _ = browser(upstream.port)
        own = {**shown, **fields, "Origin": f"http://{shown['Host']}"}
        answer = server.request("GET" if fields else "POST", "/x", headers=own)
        assert answer.status == 200, answer.body


@pytest.mark.parametrize("fields", [{}, SOCKET], ids=["form", "websocket"])
def test_a_page_below_a_sandboxs_path_is_of_its_servers_origin(preview, key, fields):
    server, sandbox, _ = preview
    with Upstream(judging) as upstream:
        answer = server.request("GET" if fields else "POST", f"/s/{sandbox}/{upstream.port}/x", key=key,
                                headers={**fields, "Origin": f"http://{server.host}"})
        assert answer.status == 200, answer.body


def foreign_origins(host):
    name, _, port = host.rpartition(":")
    return ["null", "https://evil.example", f"http://{name}", f"http://{name}:{int(port) - 1}", f"http://evil.{host}", f"http://evil{host}",
            f"http://{name}.evil.example:{port}", f"http://user@{host}", f"http://{host}@evil.example", f"http://{host} http://evil.example",
            f"http://{host}/", f"http://evil.example/?http://{host}"]


def test_every_other_origin_arrives_as_it_is(agent, recorded):
    seen, upstream = recorded
    for origin in foreign_origins(agent.host):
        assert agent.request("POST", upstream.path(), headers={"Origin": origin}).status == 204
        assert seen.values("Origin") == [origin]
        assert seen.values("X-Forwarded-Host") == [agent.host], origin
    # A foreign name that leads here is not one of the agent's own.
    agent.request("POST", upstream.path(), headers={"Host": "evil.example", "Origin": "http://evil.example"}).problem(421)
    assert len(seen.requests) == len(foreign_origins(agent.host))


def test_no_other_origin_passes_for_a_pages_own_through_the_gateway(preview, key, recorded):
    server, sandbox, browser = preview
    seen, upstream = recorded
    shown, _ = browser(upstream.port)
    for origin in foreign_origins(shown["Host"]):
        answer = server.request("POST", "/", headers={**shown, "Origin": origin})
        assert answer.status == 401, (origin, "a preview's cookie counts for its own pages alone")
        forged = {"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https"}
        for at, path in (shown["Host"], "/"), (server.host, f"/s/{sandbox}/{upstream.port}/"):
            said = {"Host": at, "Origin": "https://evil.example" if origin == "null" else origin, **forged}
            assert server.request("POST", path, headers=said, key=key).status == 204
            assert seen.values("Origin") == [said["Origin"]]


def test_the_referer_of_its_own_pages_is_the_servers_own(agent, preview, recorded, key):
    seen, upstream = recorded
    server, sandbox, browser = preview
    at = f"http://localhost:{upstream.port}"

    def told(referer, ask):
        assert ask({"Referer": referer}).status == 204
        return seen.values("Referer")[0]

    def through_agent(fields):
        return agent.request("GET", upstream.path(), headers=fields)

    def through_path(fields):
        return server.request("GET", f"/s/{sandbox}/{upstream.port}/", headers=fields, key=key)

    shown, link = browser(upstream.port)

    def through_preview(fields):
        return server.request("GET", "/", headers={**shown, **fields})

    own = f"http://{agent.host}"
    assert told(own + upstream.path("/a?b=%20"), through_agent) == at + "/a?b=%20"
    assert told(f"http://{server.host}/s/{sandbox}/{upstream.port}/a", through_path) == at + "/a"
    assert told(f"http://{shown['Host']}/a?b", through_preview) == at + "/a?b"
    for other in own + "/v1/ports/1/", own + "/v1/run", "https://evil.example/x", f"http://user@{agent.host}{upstream.path()}":
        assert told(other, through_agent) == other
    # A link that opens a port is a secret, on whatever page it stands.
    for page in f"http://{shown['Host']}/a?{link}", f"https://elsewhere.example/a?x=1&{link}", f"http://1-s.{DOMAIN}/?%73{link[1:]}&x=1":
        for ask in through_path, through_preview:
            assert "preview" not in told(page, ask) and link.partition("=")[2] not in str(seen.requests[-1])


def test_a_location_by_the_servers_own_name_leads_back_to_it(agent, preview, key):
    server, sandbox, browser = preview
    location = []

    def serve(connection):
        connection.head()
        connection.answer(b"", "302 Found", f"Location: {location[-1]}")

    with Upstream(serve) as upstream:
        shown, _ = browser(upstream.port)
        ways = {"/v1/ports/%d" % upstream.port: lambda: agent.request("GET", upstream.path()),
                "": lambda: server.request("GET", "/", headers=shown),
                f"/s/{sandbox}/{upstream.port}": lambda: server.request("GET", f"/s/{sandbox}/{upstream.port}/", key=key)}
        own = f"http://localhost:{upstream.port}"
        for prefix, ask in ways.items():
            for said, wanted in ((own + "/login?x", prefix + "/login?x"), (own + prefix + "/login", prefix + "/login"), (own, prefix + "/"),
                                 ("/login", "/login"), ("http://localhost:1/x", "http://localhost:1/x"),
                                 ("https://evil.example/", "https://evil.example/")):
                location.append(said)
                assert ask().headers["Location"] == wanted, (prefix, said)
        location.append(own + "//evil.example/")
        assert ways[""]().headers["Location"] == "/.//evil.example/", "a path, and no other host"
