"""Roots of sessions below the agent's own, where commands can put links."""


def test_a_link_of_a_command_is_no_way_to_a_root_outside(agent, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    agent.run(f"ln -s {outside} l")
    agent.request("POST", "/v1/sessions", json={"root": "l"}).problem(403, "path_escapes_root")
    agent.request("POST", "/v1/sessions", json={"root": "l/new"}).problem(403, "path_escapes_root")
    assert [path.name for path in outside.iterdir()] == ["kept"]


def test_a_root_that_became_a_link_is_neither_read_nor_purged(agent, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    sid = agent.session(root="own")
    agent.run(f"rmdir own; ln -s {outside} own")
    agent.request("GET", f"/v1/sessions/{sid}/files/kept").problem(403, "path_escapes_root")
    assert agent.request("DELETE", f"/v1/sessions/{sid}?purge=true").status == 204
    assert (outside / "kept").read_text() == "kept"
    assert not (agent.root / "own").is_symlink()
