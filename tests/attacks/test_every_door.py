"""Attacks on the port of each dialect, by strangers and by commands: links, paths, users, the agent's credentials,
connections and memory. A token permits no more there than on the agent's own port."""

import contextlib
import os
import socket

import pytest

import proc
from dialect_doors import DOORS, HTTP, Refused, at, doors  # noqa: F401
from waiting import until

MIB = 1 << 20
DIALECTS = [door for door in DOORS if door.name]


def refused(at, ask):
    answer = at.send(ask)
    assert 400 <= answer.status < 500 and at.sentence(answer), (ask.path[:100], answer)
    assert b"secret" not in answer.body and b"root:" not in answer.body
    return answer


# --- files ---


@pytest.fixture
def outside(at):
    """A directory that is not below the root."""
    path = at.agent.folder / "outside"
    path.mkdir()
    (path / "f").write_text("secret")
    yield path
    assert os.listdir(path) == ["f"] and (path / "f").read_text() == "secret"


@doors("write", "read")
def test_no_path_leads_out(at, outside):
    os.symlink(outside, at.files / "link")
    os.symlink(outside / "f", at.files / "to-file")
    for name in ("../outside/f", "a/../../outside/f", "../../../../../../etc/passwd", "..", "../", "link/f", "link", "to-file",
                 "x" * 256, "d/" * 2500 + "x", "nul\0byte"):
        refused(at, at.read(name))
        refused(at, at.write(name, b"x"))
        if at.remove and name not in ("link", "to-file"):
            assert at.send(at.remove(name)).status != 404 or "/" in name or len(name) > 255, name
    assert sorted(os.listdir(at.files)) == ["link", "to-file"]


@doors("write", "read")
def test_links_that_stay_inside_are_followed(at):
    (at.files / "d").mkdir()
    os.symlink("d", at.files / "to-d")
    os.symlink("d/f", at.files / "to-f")
    at.put("to-d/f", b"1")
    at.put("to-f", b"2")
    assert at.content("to-d/f") == at.content("to-f") == (at.files / "d/f").read_bytes() == b"2"
    assert (at.files / "to-f").is_symlink()


@doors("write", "read")
def test_what_is_not_a_file_is_not_opened(at):
    os.mkfifo(at.files / "fifo")
    (at.files / "d").mkdir()
    (at.files / "f").write_text("stays")
    os.symlink("loop", at.files / "loop")
    for name in ("fifo", "d", "loop", "f/below", ".", "/"):
        refused(at, at.write(name, b"x"))
    for name in ("fifo", "loop", "f/below"):
        refused(at, at.read(name))
    assert (at.files / "fifo").is_fifo() and (at.files / "f").read_text() == "stays" and not os.listdir(at.files / "d")


@doors("write", "read")
def test_a_link_that_is_swapped_in_leads_nowhere(at, outside):
    """A command of the agent's own uid exchanges a directory for a link again and again."""
    (at.files / "real").mkdir()
    (at.files / "real" / "f").write_text("mine")
    swap = "mv -T name a; mv -T link name; mv -T name link; mv -T a name"
    cid = at.agent.start(f"cd {at.files}; ln -s {outside} link; cp -r real name; while :; do {swap}; done")["id"]
    seen = set()

    def look():
        answer = at.send(at.read("name/f"))
        assert b"secret" not in answer.body
        seen.add(answer.status)
        return {200, 403} <= seen

    until(look, 60, what=f"both of what is there: {seen}")
    for _ in range(200):
        assert at.send(at.write("name/new", b"from outside")).status < 500
    at.agent.request("DELETE", f"/v1/commands/{cid}")


# --- users and credentials ---


@doors("run_as")
@pytest.mark.parametrize("user", ["nobody", "1000", "no-such-user"])
def test_no_user_is_switched_to(at, user):
    try:
        assert at.run_as(user, "id -u") == (b"%d\n" % os.geteuid(), 0)
    except Refused as told:
        assert told.code in ("permission_denied", "unauthenticated")


@doors("command")
def test_a_command_gets_nothing_of_the_agents(at):
    said, _ = at.run("env; cat /proc/$PPID/environ /proc/$PPID/cmdline 2>/dev/null | tr '\\0' '\\n'")
    assert b"HOME=" in said and b"SKIFF_" not in said and at.agent.token.encode() not in said


# --- places and memory ---


@doors(settings=("--max-connections", "8"))
def test_a_probe_is_answered_when_strangers_have_all_places(at):
    with contextlib.ExitStack() as held:
        for _ in range(100):
            held.enter_context(at.connect())
        assert at.is_well()
        at.use()


@doors(of=HTTP, settings=("--max-connections", "8"))
def test_an_idle_connection_makes_room_for_the_next_one(at):
    with contextlib.ExitStack() as held:
        for _ in range(100):
            sock = held.enter_context(at.connect())
            sock.sendall(at.bytes(at.read("missing")))
            assert sock.recv(65536).startswith(b"HTTP/1.1 404 ")
        assert at.is_well()
        at.use()


@doors("write")
def test_uploads_that_stand_still_fill_no_memory(at):
    """Forty at once, each with a megabyte on its way; the agent answers others, and forgets them when they go."""
    before = proc.rss_bytes(at.agent.pid)
    whole = at.bytes(at.write("never", b"x" * MIB))
    with contextlib.ExitStack() as held:
        for _ in range(40):
            sock = held.enter_context(at.connect())
            with contextlib.suppress(OSError):
                sock.sendall(whole[:-10])
        assert at.is_well()
        assert proc.rss_bytes(at.agent.pid) - before < proc.allowance(96 * MIB)
    until(lambda: not list(at.files.iterdir()), what="nothing in the root")
    at.put("after", b"x")


@doors("streams_files")
def test_a_client_that_reads_nothing_of_a_file_holds_nobody_up(at):
    (at.files / "large").write_bytes(os.urandom(32 * MIB))
    before = proc.rss_bytes(at.agent.pid)
    with contextlib.ExitStack() as held:
        for _ in range(16):
            sock = held.enter_context(at.connect())
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.sendall(at.bytes(at.read("large")))
        for i in range(5):
            at.put("f", b"%d" % i)
            assert at.content("f") == b"%d" % i and at.is_well()
        assert proc.rss_bytes(at.agent.pid) - before < proc.allowance(64 * MIB)


@doors("unread")
def test_a_client_that_reads_nothing_of_a_command_holds_nobody_up(at):
    before = proc.rss_bytes(at.agent.pid)
    with at.unread("touch up; exec yes"):
        until((at.files / "up").exists)
        for _ in range(5):
            assert at.run("echo on") == (b"on\n", 0) and at.is_well()
        assert proc.rss_bytes(at.agent.pid) - before < proc.allowance(64 * MIB)


@doors("unread", "forgets_the_deaf", settings=("--write-timeout", "1s", "--keep-bytes", "128KiB"))
def test_a_client_that_never_reads_sets_its_command_free(at):
    with at.unread("yes | head -c 50000000; touch ended"):
        until((at.files / "ended").exists, 60)


@doors()
def test_descriptors_and_tasks_go_with_their_connections(at):
    at.use()
    before = at.agent.descriptor_count()
    for _ in range(40):
        with at.connect() as sock:
            sock.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    until(lambda: at.agent.descriptor_count() <= before, what="the end of every connection")
