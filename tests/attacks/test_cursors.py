"""Cursors and pages of lists, that a reader makes up: they lead nowhere else, and cost nobody anything."""

import base64
import random

import pytest

from wire import query

READER = "a-token-that-may-read"


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


MADE_UP = [b"..", b"../", b"../../etc", b"/etc", b"/etc/passwd", b"out", b"out/", b"out/secret", b"a\0b", b"\xff" * 4000,
           b"d/" * 2000, b".", b"./out/x", b"d/../../outside/secret", b"\n", b"d/f\0out", b"~", b"%2e%2e/"]


@pytest.fixture
def agent(start_agent):
    agent = start_agent(tokens=(f"{READER} read",))
    outside = agent.folder / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (agent.root / "out").symlink_to(outside)
    for name in ("d", "d/e", "z"):
        (agent.root / name).mkdir()
        (agent.root / name / "f").write_text("f")
    return agent


def test_forged_cursors_lead_nowhere(agent):
    rng = random.Random(14)
    cursors = [b64(one) for one in MADE_UP] + [b64(rng.randbytes(rng.randrange(1, 60))) for _ in range(100)]
    cursors += ["", "=", "a", "!!!", "A" * 6000, "-1", "18446744073709551616", "9" * 400]
    for cursor in cursors:
        for path in (query("/v1/files:list", cursor=cursor, recursive="true"), query("/v1/files:list", cursor=cursor) + "&path=d",
                     query("/v1/files:list", cursor=cursor, recursive="true", limit=1),
                     query("/v1/commands", cursor=cursor), query("/v1/sessions", cursor=cursor)):
            answer = agent.request("GET", path, token=READER)
            assert answer.status in (200, 400), (path, answer)
            if answer.status == 400:
                assert answer.problem(400, "invalid_field")["field"] == "cursor"
            assert b"secret\"" not in answer.body, (cursor, path)
            if answer.status == 200:
                assert {item.get("path", "").partition("/")[0] for item in answer.json()["items"]} <= {"", "d", "e", "f", "z", "out", "default"}
    for cursor, status in (("-1", 400), ("x", 400), (str(1 << 63), 400), (str((1 << 63) - 1), 200), ("0", 200), ("1.5", 400), ("0x1", 400)):
        with agent.stream("GET", query("/v1/files:watch", cursor=cursor) + "&path=d", token=READER) as stream:
            assert stream.status == status, cursor
            if status == 200:
                assert next(stream.sse())[1] in ("watching", "overflow")
    agent.baseline = None  # a directory that was watched stays so for a while
    assert agent.request("GET", "/healthz").status == 200


NAMES = (b"out", b"out/secret", b"~", b"\n")  # that there could be


@pytest.mark.parametrize("cursor", [b64(one) for one in MADE_UP if one not in NAMES] + [b64(b"x" * 256), "=", "!!!", "a"],
                         ids=lambda cursor: cursor[:20])
def test_a_cursor_that_no_list_gives_is_refused(agent, cursor):
    for path in ("/v1/files:list", "/v1/sessions/default/files:list"):
        assert agent.request("GET", query(path, cursor=cursor), token=READER).problem(400, "invalid_field")["field"] == "cursor"


@pytest.mark.parametrize("cursor", ["!!!", "a b", "../x", "-", "x" * 200])
def test_a_cursor_that_is_not_an_id_is_refused(agent, cursor):
    for path in ("/v1/commands", "/v1/sessions", "/v1/sessions/default/commands"):
        assert agent.request("GET", query(path, cursor=cursor), token=READER).problem(400, "invalid_field")["field"] == "cursor"


def test_a_page_goes_on_where_it_was_although_links_come_and_go(agent):
    """The directory that a cursor names has become a link that leads out when the client asks for the next page."""
    first = agent.request("GET", query("/v1/files:list", recursive="true", limit=2), token=READER).json()
    assert first["next_cursor"]
    (agent.root / "d").rename(agent.root / "moved")
    (agent.root / "d").symlink_to(agent.folder / "outside")
    names, cursor = set(), first["next_cursor"]
    while cursor:
        page = agent.request("GET", query("/v1/files:list", recursive="true", limit=2, cursor=cursor), token=READER)
        assert page.status == 200, page
        names |= {item["path"] for item in page.json()["items"]}
        cursor = page.json().get("next_cursor")
    assert not [name for name in names if "secret" in name]
