"""Set-user-id and set-group-id bits are for admins, however they are asked for, and stay with the bytes they were given to."""

import stat

import pytest

from wire import query


def set_mode(agent, how, path, mode, token):
    """Asks for a file with that mode in one of the ways there are."""
    if how == "PUT":
        return agent.request("PUT", query(f"/v1/files/{path}", mode=mode), body=b"#!/bin/sh\n", token=token)
    if how == "batch":
        body = {"operations": [{"op": "write", "path": path, "content": "#!/bin/sh\n", "mode": mode}]}
        return agent.request("POST", "/v1/files:batch", json=body, token=token)
    (agent.root / path).write_text("#!/bin/sh\n")
    return agent.request("POST", "/v1/files:chmod", json={"path": path, "mode": mode}, token=token)


@pytest.mark.parametrize("how", ["PUT", "batch", "chmod"])
def test_set_id_bits_are_for_admins(start_agent, how):
    agent = start_agent(tokens=("runner exec",))
    for number, mode in enumerate(("4755", "2755", "06755")):
        path = f"f{number}"
        set_mode(agent, how, path, mode, "runner").problem(403, "insufficient_scope")
        there = agent.root / path
        assert not there.exists() or not there.stat().st_mode & (stat.S_ISUID | stat.S_ISGID), mode
        assert set_mode(agent, how, path, mode, agent.token).status == (201 if how == "PUT" else 200), mode
        assert stat.S_IMODE(there.stat().st_mode) == int(mode, 8)
        # Its contents are no longer the ones that the bits were given to.
        assert agent.request("PUT", f"/v1/files/{path}", body=b"#!/bin/false\n", token="runner").status == 200
        assert stat.S_IMODE(there.stat().st_mode) == int(mode, 8) & 0o1777
    assert set_mode(agent, how, "sticky", "1755", "runner").status == (201 if how == "PUT" else 200)
    assert stat.S_IMODE((agent.root / "sticky").stat().st_mode) == 0o1755


@pytest.mark.parametrize("mode", [0o4755, 0o2755])
def test_an_append_removes_set_id_bits(start_agent, mode):
    agent = start_agent(tokens=("runner exec",))
    there = agent.root / "tool"
    there.write_text("#!/bin/sh\n")
    there.chmod(mode)
    answer = agent.request("PATCH", "/v1/files/tool?append=true", body=b"id\n", token="runner")
    assert answer.status == 200 and there.read_text() == "#!/bin/sh\nid\n"
    assert stat.S_IMODE(there.stat().st_mode) == mode & 0o1777
