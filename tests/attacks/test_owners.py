"""A command of a lesser user swaps names in a directory that it may write to, in the moment in which the agent, which is root, makes something
there: what is root's stays root's, with the mode that it had."""

import contextlib
import io
import os
import subprocess
import sys
import tarfile

import pytest

from e2b import UNARY, encoded, start_client  # noqa: F401

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make something for another user")

NOBODY = 65534
# renameat2(2) with RENAME_EXCHANGE, as fast as it goes, until its input is closed.
SWAP = """
import ctypes, os, sys, threading
os.chdir(sys.argv[1])
os.setgroups([]); os.setgid(65534); os.setuid(65534)
libc = ctypes.CDLL(None, use_errno=True)
done = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), done.set()), daemon=True).start()
print("swapping", flush=True)
while not done.is_set():
    for _ in range(2000):
        libc.syscall(316, -100, b"made", -100, b"secret", 2)
"""
TRIES = 400


@contextlib.contextmanager
def swapping(directory):
    swapper = subprocess.Popen([sys.executable, "-c", SWAP, directory], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert swapper.stdout.readline() == b"swapping\n"
        yield
    finally:
        swapper.stdin.close()
        swapper.stdout.close()
        swapper.wait(10)


def make_dir(client, _):
    client.door.request("POST", "/filesystem.Filesystem/MakeDir", json={"path": "made"}, headers={**UNARY, "Authorization": AS_NOBODY})


def move(client, root):
    (root / "source").write_text("")
    client.door.request("POST", "/filesystem.Filesystem/Move", json={"source": "source", "destination": "made/f"},
                        headers={**UNARY, "Authorization": AS_NOBODY})


def upload(client, _):
    client.door.request("POST", "/files?path=made/f&username=nobody", body=b"x", headers={"Content-Type": "application/octet-stream"})


def unpack(client, _):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        made = tarfile.TarInfo("made")
        made.type, made.mode = tarfile.DIRTYPE, 0o777
        archive.addfile(made)
    client.agent.request("PUT", "/v1/files:archive", body=packed.getvalue())


AS_NOBODY = "Basic " + encoded(b"nobody:")
WAYS = {"MakeDir": make_dir, "Move": move, "POST files": upload, "PUT files:archive": unpack}


def clear(root):
    """Removes what the test created; the secret keeps its name, or gets it back."""
    for _ in range(100_000):
        for name in ("made/f", "secret/f"):
            with contextlib.suppress(OSError):
                os.unlink(root / name)
        try:
            os.rmdir(root / "made")
            return
        except FileNotFoundError:
            return
        except OSError:
            continue  # it is the secret just now
    raise AssertionError("what was made can not be removed")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", ["file", "directory"])
def test_a_file_that_is_swapped_in_keeps_its_owner_and_mode(start_client, way, what):  # noqa: F811
    client = start_client()
    root = client.agent.root
    root.chmod(0o777)
    secret = root / "secret"
    if what == "file":
        secret.write_text("root's alone")
        secret.chmod(0o600)
    else:
        secret.mkdir(0o700)
        (secret / "inside").write_text("")
    held = os.open(secret, os.O_RDONLY)
    had = os.fstat(held)
    try:
        with swapping(root):
            for number in range(TRIES):
                WAYS[way](client, root)
                now = os.fstat(held)
                assert (now.st_uid, now.st_gid, now.st_mode) == (had.st_uid, had.st_gid, had.st_mode), f"try {number}"
                clear(root)
    finally:
        os.close(held)


@pytest.mark.parametrize("way", ["MakeDir", "Move", "POST files"])
def test_a_created_directory_belongs_to_the_user(start_client, way):  # noqa: F811
    client = start_client()
    WAYS[way](client, client.agent.root)
    made = (client.agent.root / "made").stat()
    assert (made.st_uid, made.st_gid, made.st_mode & 0o777) == (NOBODY, NOBODY, 0o755)
    # And what comes next is the agent's again.
    assert client.agent.request("PUT", "/v1/files/next/f", body=b"x").status == 201
    assert (client.agent.root / "next").stat().st_uid == (client.agent.root / "next/f").stat().st_uid == 0


def test_a_link_of_a_lesser_user_gives_nothing_of_roots_away(start_client):  # noqa: F811
    client = start_client()
    home, secret = client.agent.root / "home", client.agent.root / "secret"
    home.mkdir()
    secret.mkdir(0o700)
    (secret / "key").write_text("root's")
    for name, target in (("file", "../secret/key"), ("new", "../secret/new"), ("way", "../secret")):
        (home / name).symlink_to(target)
        os.chown(home / name, NOBODY, NOBODY, follow_symlinks=False)
    os.chown(home, NOBODY, NOBODY)
    for path in ("home/file", "home/new", "home/way/key", "home/way/other"):
        answer = client.door.request("POST", f"/files?path={client.agent.root}/{path}&username=nobody", body=b"x",
                                     headers={"Content-Type": "application/octet-stream"})
        assert answer.status in (400, 401, 403), (path, answer)
    assert [path.name for path in secret.iterdir()] == ["key"] and (secret / "key").read_text() == "root's"
    assert (secret / "key").stat().st_uid == 0
    # Where it may write itself, its links are as good as any.
    (home / "own").symlink_to("there")
    answer = client.door.request("POST", f"/files?path={client.agent.root}/home/own&username=nobody", body=b"x",
                                 headers={"Content-Type": "application/octet-stream"})
    assert answer.status == 200 and (home / "there").stat().st_uid == NOBODY


def planted(agent):
    """A directory of nobody's with links to one of root's alone, which has a file that everybody may read."""
    home, secret = agent.root / "home", agent.root / "secret"
    home.mkdir()
    secret.mkdir(0o700)
    (secret / "key").write_text("root's")
    (secret / "open").mkdir(0o777)
    (secret / "open").chmod(0o777)
    for name, target in (("way", "../secret"), ("new", "../secret/new"), ("inner", "../secret/open")):
        (home / name).symlink_to(target)
        os.chown(home / name, NOBODY, NOBODY, follow_symlinks=False)
    (home / "own").write_text("nobody's")
    for path in (home / "own", home):
        os.chown(path, NOBODY, NOBODY)
    return home, secret


def contents(directory):
    return sorted((str(path.relative_to(directory)), path.lstat().st_uid) for path in directory.rglob("*"))


@pytest.mark.parametrize("method, message", [
    ("MakeDir", {"path": "home/way/d"}), ("MakeDir", {"path": "home/way/d/e"}), ("MakeDir", {"path": "home/inner/d"}),
    ("Move", {"source": "home/own", "destination": "home/way/key"}), ("Move", {"source": "home/own", "destination": "home/way/d/own"}),
    ("Move", {"source": "home/way/key", "destination": "home/got"}), ("Move", {"source": "home/inner", "destination": "home/way/inner"}),
    ("Remove", {"path": "home/way/key"}), ("Remove", {"path": "home/way/open"})])
def test_changes_through_a_link_have_the_rights_of_who_may_have_made_it(start_client, method, message):  # noqa: F811
    client = start_client()
    home, secret = planted(client.agent)
    before = contents(secret), contents(home)
    full = {key: f"{client.agent.root}/{path}" for key, path in message.items()}
    answer = client.door.request("POST", f"/filesystem.Filesystem/{method}", json=full, headers={**UNARY, "Authorization": AS_NOBODY})
    assert answer.status == 403, answer
    assert (contents(secret), contents(home)) == before
    # Without a link on the way the path alone says what is meant: the client has chosen it.
    plain = {key: path.replace("home/way", "secret").replace("home/inner", "secret/open") for key, path in full.items()}
    answer = client.door.request("POST", f"/filesystem.Filesystem/{method}", json=plain, headers={**UNARY, "Authorization": AS_NOBODY})
    assert answer.status == 200, answer


def test_links_to_where_a_user_may_write_itself_are_followed(start_client):  # noqa: F811
    client = start_client()
    home, _ = planted(client.agent)
    (home / "real").mkdir()
    os.chown(home / "real", NOBODY, NOBODY)
    (home / "link").symlink_to("real")
    headers = {**UNARY, "Authorization": AS_NOBODY}
    for method, message in (("MakeDir", {"path": "home/link/d/e"}), ("Move", {"source": "home/own", "destination": "home/link/d/own"})):
        full = {key: f"{client.agent.root}/{path}" for key, path in message.items()}
        assert client.door.request("POST", f"/filesystem.Filesystem/{method}", json=full, headers=headers).status == 200
    answer = client.door.request("POST", f"/files?path={client.agent.root}/home/link/new/f&username=nobody", body=b"x" * 100_000,
                                 headers={"Content-Type": "application/octet-stream"})
    assert answer.status == 200
    assert contents(home / "real") == [("d", NOBODY), ("d/e", NOBODY), ("d/own", NOBODY), ("new", NOBODY), ("new/f", NOBODY)]
    answer = client.door.request("POST", "/filesystem.Filesystem/Remove", json={"path": f"{client.agent.root}/home/link/d"}, headers=headers)
    assert answer.status == 200 and contents(home / "real") == [("new", NOBODY), ("new/f", NOBODY)]


@pytest.mark.parametrize("size", [1, 3 << 20])
@pytest.mark.parametrize("path", ["way/new", "new", "way/d/new", "inner/new"])
@pytest.mark.parametrize("owner", [f"uid={NOBODY}", f"uid={NOBODY}&gid={NOBODY}", f"gid={NOBODY}"])
def test_nothing_is_given_away_through_a_link(agent, owner, path, size):
    _, secret = planted(agent)
    before = contents(secret)
    agent.request("PUT", f"/v1/files/home/{path}?{owner}", body=b"x" * size).problem(403, "permission_denied")
    assert contents(secret) == before
    assert agent.request("PUT", f"/v1/files/{path.replace('way', 'secret').replace('inner', 'secret/open')}?{owner}", body=b"x" * size).status == 201


def test_a_link_to_where_the_owner_may_write_is_followed(agent):
    home, _ = planted(agent)
    (home / "link").symlink_to("own")
    for size in (1, 3 << 20):
        answer = agent.request("PUT", f"/v1/files/home/link?uid={NOBODY}&gid={NOBODY}", body=b"x" * size)
        assert answer.status == 200 and (home / "own").stat().st_size == size and (home / "own").stat().st_uid == NOBODY
