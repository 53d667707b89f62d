"""Roots of sessions, and the agent's own, where commands can put links."""

import ctypes
import os
import shutil
import threading
from urllib.parse import quote

import pytest


def test_a_link_of_a_command_does_not_lead_to_a_root_outside(agent, tmp_path):
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


@pytest.fixture
def outside(tmp_path):
    """A directory that the agent may read and its clients must not."""
    folder = tmp_path / "outside"
    folder.mkdir(mode=0o700)
    (folder / "kept").write_text("kept")
    return folder


@pytest.fixture
def shared(tmp_path):
    """A directory in which commands of another user than root may put anything."""
    folder = tmp_path / "shared"
    (folder / "data").mkdir(parents=True)
    if os.geteuid() == 0:
        os.chmod(tmp_path, 0o755)
        for path in (folder, folder / "data"):
            os.chown(path, 1000, 1000)
    return folder


def at(sid, path):
    return f"/v1/sessions/{sid}/files/{quote(str(path), safe='')}"


def refuses_all(agent, sid, folder, outside, statuses):
    """None of the session's files is one outside."""
    requests = [agent.request("GET", at(sid, folder / "kept")), agent.request("PUT", at(sid, folder / "kept"), body=b"changed"),
                agent.request("GET", f"/v1/sessions/{sid}/files:list?path={quote(str(folder), safe='')}")]
    assert [answer.status for answer in requests] == statuses
    assert (outside / "kept").read_text() == "kept"
    assert [path.name for path in outside.iterdir()] == ["kept"]


def test_a_link_in_place_of_an_extra_root_is_not_followed_at_the_first_call(agent, shared, outside):
    data = shared / "data"
    sid = agent.session(extra_roots=[{"path": str(data)}])
    data.rename(shared / "moved")
    data.symlink_to(outside)
    refuses_all(agent, sid, data, outside, [404, 201, 200])  # what it is about was moved
    assert (shared / "moved/kept").read_text() == "changed"


def test_a_link_in_place_of_an_extra_root_that_was_removed_is_not_followed(agent, shared, outside):
    data = shared / "data"
    sid = agent.session(extra_roots=[{"path": str(data)}])
    assert agent.request("PUT", at(sid, data / "f"), body=b"x").status == 201
    (data / "f").unlink()
    data.rmdir()
    data.symlink_to(outside)
    refuses_all(agent, sid, data, outside, [403, 403, 403])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may read more than its commands")
def test_a_directory_that_another_user_put_in_place_of_a_root_is_not_taken_for_it(agent, shared):
    data = shared / "data"
    sid = agent.session(extra_roots=[{"path": str(data)}])
    data.rmdir()
    other = shared / "other"
    other.mkdir()
    (other / "kept").write_text("kept")
    other.rename(data)
    agent.request("GET", at(sid, data / "kept")).problem(404, "path_not_found")


def test_a_link_in_place_of_the_agents_root_is_not_followed(start_agent, shared, outside):
    agent = start_agent()
    sid = agent.session(root="own")
    shutil.rmtree(agent.root)
    agent.root.symlink_to(outside)
    agent.request("GET", "/v1/files/kept").problem(403, "path_escapes_root")
    agent.request("GET", f"/v1/sessions/{sid}/files/kept").problem(404, "path_not_found")
    for body in ({"root": "new"}, {"extra_roots": [{"path": str(shared)}]}):
        agent.request("POST", "/v1/sessions", json=body).problem(403, "path_escapes_root")
    assert [path.name for path in outside.iterdir()] == ["kept"]
    agent.root.unlink()
    agent.root.mkdir()
    assert agent.request("PUT", "/v1/files/f", body=b"x").status == 201


def test_a_link_that_is_swapped_in_does_not_become_the_root_of_a_session(agent):
    """The name of its root is a link to / half of the time."""
    if "landlock" not in agent.request("GET", "/v1/capabilities").json()["isolation"]:
        pytest.skip("this kernel has no Landlock scopes")
    (agent.root / "sub").mkdir()
    (agent.root / "link").symlink_to("/")
    libc = ctypes.CDLL(None)
    names = [str(agent.root / name).encode() for name in ("sub", "link")]
    over = threading.Event()

    def swap():
        while not over.is_set():
            for _ in range(200):
                libc.renameat2(-100, names[0], -100, names[1], 2)  # RENAME_EXCHANGE

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        made = 0
        for number in range(400):
            sid = f"s{number}"
            answer = agent.request("PUT", f"/v1/sessions/{sid}", json={"root": "sub", "isolation": "landlock"})
            if answer.status == 201:
                made += 1
                result = agent.run(argv=["/bin/ls", "/home"], session=sid, cwd="/tmp")
                assert result["exit_code"] != 0, (number, result)
                assert agent.request("DELETE", f"/v1/sessions/{sid}").status == 204
            else:
                assert answer.status in (403, 404, 409), answer
    finally:
        over.set()
        swapping.join()
    assert made


def test_clients_can_not_read_the_agents_secrets_as_files(start_agent):
    """The root / contains the secrets in /proc."""
    agent = start_agent("--root", "/", env={"SOMEBODYS_SECRET": "5ecret"})
    thread = max(int(name) for name in os.listdir(f"/proc/{agent.pid}/task"))
    for process in ("self", "thread-self", agent.pid, thread, f"{agent.pid}/task/{thread}"):
        for name in ("environ", "maps", "smaps", "stat", "auxv"):
            path = f"/proc/{process}/{name}"
            agent.request("GET", f"/v1/files/{path}").problem(403, "permission_denied")
            copy = {"from": path, "to": f"{agent.folder}/copy"}
            agent.request("POST", "/v1/files:copy", json=copy).problem(403, "permission_denied")
            assert not (agent.folder / "copy").exists()
    found = agent.request("GET", "/v1/files:grep?pattern=heap&path=/proc/self/maps")
    assert found.status == 200 and b'"matches":0' in found.body and b'"unreadable":1' in found.body, found
    for path in ("/proc/1/environ", f"/proc/{os.getpid()}/environ"):
        agent.request("GET", "/v1/files/" + path).problem(403, "permission_denied")
