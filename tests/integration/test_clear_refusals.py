"""Refusals that say what to do next, so that nobody repeats what can't work."""

import gzip

import pytest

from writing import DIALECTS, Everything


@pytest.mark.parametrize("file, old, told", [
    (b"one\r\ntwo\r\n", "one\ntwo", "CR LF"), (b"one\ntwo\n", "one\r\ntwo", "in LF"), (b"one\r\ntwo\r\n", "one\r\ntwo\nthree", None),
    (b"one\r\ntwo\r\n", "three\n", None), (b"one two", "three", None)])
def test_an_edit_that_differs_in_its_line_ends_says_so(agent, file, old, told):
    (agent.root / "f").write_bytes(file)
    problem = agent.request("PATCH", "/v1/files/f", json={"edits": [{"old": old, "new": "x"}]}).problem(409, "edit_not_found")
    assert ("line" in problem["detail"]) == bool(told) and (told or "") in problem["detail"]
    batch = {"operations": [{"op": "edit", "path": "f", "edits": [{"old": old, "new": "x"}]}]}
    assert (told or "") in agent.request("POST", "/v1/files:batch", json=batch).problem(409, "edit_not_found")["detail"]
    assert (agent.root / "f").read_bytes() == file


@pytest.mark.parametrize("coding", ["gzip", "br", "GZIP", "deflate, gzip"])
def test_a_body_that_is_packed_is_refused(start_agent, coding):
    on = Everything(start_agent(*DIALECTS))
    packed = gzip.compress(b'{"command": "touch made"}')
    headers = {"Content-Encoding": coding}
    octets, json = {**headers, "Content-Type": "application/octet-stream"}, {**headers, "Content-Type": "application/json"}
    for method, path, fields in (("PUT", "/v1/files/f", octets), ("PATCH", "/v1/files/f?append=true", octets), ("POST", "/v1/commands", json),
                                 ("POST", "/v1/run", octets), ("POST", "/v1/sessions", json)):
        problem = on.agent.request(method, path, body=packed, headers=fields).problem(415, "unsupported_media_type")
        assert "Content-Encoding" in problem["detail"]
    assert on.kubebox.request("POST", "/run_command", body=packed, headers=json).status in (415, 422)
    assert on.python.request("POST", "/execute", body=packed, headers=json).status >= 400
    assert on.sandboxd.request("PUT", "/v1/files/f", body=packed, headers=octets).status >= 400
    assert not any(on.agent.root.iterdir())


def test_identity_and_packed_archives_are_taken(agent):
    assert agent.request("PUT", "/v1/files/f", body=b"x", headers={"Content-Encoding": "identity"}).status == 201
    assert agent.request("GET", "/v1/files/f", headers={"Content-Encoding": "gzip"}).status == 200
    packed = agent.request("GET", "/v1/files:archive?format=tar.gz").body
    answer = agent.request("PUT", "/v1/files:archive?path=x", body=packed, headers={"Content-Encoding": "gzip"})
    assert answer.status == 200 and (agent.root / "x/f").read_bytes() == b"x"
