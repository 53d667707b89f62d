"""A file that is a mount of its own, as /etc/hosts in a container, a ConfigMap's subPath or `docker -v FILE:FILE`: no other file can take
its name, so it is written in place."""

import pytest

from confined import private_mounts
from writing import DIALECTS, WAYS, Everything

OLD, NEW = b"old text, rather long\n", b"new\n"


def mounted(start_agent, tmp_path, *arguments, read_only=False, room=None):
    """The agent, and the file that is mounted at `config` in its root: outside, its bytes are seen by the test."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_bytes(OLD)
    (outside / "file").chmod(0o640)
    script = f'mkdir -p {tmp_path}/agent0/root && touch {tmp_path}/agent0/root/config'
    if read_only:
        script = f'mkdir -p {tmp_path}/agent0/root/etc && touch {tmp_path}/agent0/root/etc/config'
        script += f' && mount --bind {tmp_path}/agent0/root/etc {tmp_path}/agent0/root/etc && mount -o remount,bind,ro {tmp_path}/agent0/root/etc'
        script += f' && mount --bind {outside}/file {tmp_path}/agent0/root/etc/config'
    else:
        script += f' && mount --bind {outside}/file {tmp_path}/agent0/root/config'
    wrapper = [*private_mounts(), "sh", "-c", script + ' && exec "$@"', "sh"]
    return start_agent(*arguments, wrapper=wrapper), outside / "file"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("read_only", [False, True], ids=["", "in a directory that is read only"])
def test_a_mounted_file_is_written_in_place(start_agent, tmp_path, way, read_only):
    agent, file = mounted(start_agent, tmp_path, *DIALECTS, read_only=read_only)
    inode = file.stat().st_ino
    path = "etc/config" if read_only else "config"
    if way == "python-runtime" and read_only:
        pytest.skip("it takes names without a slash")
    assert Everything(agent).write(way, path, OLD, NEW) < 300
    assert file.read_bytes() == NEW and file.stat().st_ino == inode
    if way != "sandboxd":
        assert file.stat().st_mode & 0o7777 == 0o640
    # More than fitted before, and its tag is one.
    large = b"x" * 300_000
    answer = agent.request("PUT", f"/v1/files/{path}", body=large, headers={"If-Match": "*"})
    assert answer.status == 200 and file.read_bytes() == large
    assert agent.request("PUT", f"/v1/files/{path}?mode=600", body=b"a", headers={"If-Match": answer.headers["ETag"]}).status == 200
    assert agent.request("PUT", f"/v1/files/{path}", body=b"b", headers={"If-Match": answer.headers["ETag"]}).status == 412
    assert file.read_bytes() == b"a" and file.stat().st_mode & 0o7777 == 0o600
    assert agent.request("PATCH", f"/v1/files/{path}?append=true", body=b"c").status == 200
    assert file.read_bytes() == b"ac"


def test_a_batch_that_fails_gives_it_its_old_text(start_agent, tmp_path):
    agent, file = mounted(start_agent, tmp_path)
    (agent.root / "d").mkdir()
    (agent.root / "d/f").write_text("")
    operations = [{"op": "write", "path": "config", "content": "new"}, {"op": "write", "path": "other", "content": "new"},
                  {"op": "move", "path": "d", "to": "d/inside"}]
    answer = agent.request("POST", "/v1/files:batch", json={"operations": operations})
    assert answer.status >= 400, answer
    assert file.read_bytes() == OLD and not (agent.root / "other").exists()


def test_operations_that_a_mount_prevents_say_why(start_agent, tmp_path):
    agent, file = mounted(start_agent, tmp_path)
    (agent.root / "other").write_text("x")
    said = agent.request("DELETE", "/v1/files/config").problem(409, "in_use")
    assert "mount" in str(said) or "busy" in str(said)
    for route in ("move", "copy"):
        body = {"from": "other", "to": "config", "overwrite": True}
        agent.request("POST", f"/v1/files:{route}", json=body).problem(409, "in_use")
    agent.request("POST", "/v1/files:move", json={"from": "config", "to": "elsewhere"}).problem(409, "in_use")
    assert file.read_bytes() == OLD and (agent.root / "other").read_text() == "x"


def test_set_id_bits_go_with_the_bytes_they_were_given_to(start_agent, tmp_path):
    agent, file = mounted(start_agent, tmp_path)
    file.chmod(0o4755)
    assert agent.request("PUT", "/v1/files/config", body=NEW).status == 200
    assert file.stat().st_mode & 0o7777 == 0o755


# --- another file system below the root ---

@pytest.fixture
def across(start_agent, tmp_path):
    """An agent whose root has a disk of its own at `disk`, with mounts in it at `disk/inner` and `disk/holder/inner`."""
    root = tmp_path / "agent0/root"
    script = " && ".join(f"mkdir -p {root}/{path} && mount -t tmpfs none {root}/{path}" for path in ("disk", "disk/inner", "disk/holder/inner"))
    return start_agent(wrapper=[*private_mounts(), "sh", "-c", script + ' && exec "$@"', "sh"])


MAKE = """mkdir -p "$0/sub" && cd "$0" && echo text >file && truncate -s 64M hole && printf x >>hole && ln -s file link && ln file second &&
 chmod 750 file && chmod 700 sub && touch -d @1500000000.25 file sub"""
LOOK = "cd \"$0\" && find . -mindepth 1 -printf '%P %y %m %l\\n' | sort && sha256sum file hole && [ $(du -k hole | cut -f1) -lt 1000 ]"


@pytest.mark.parametrize("source, to", [("here", "disk/there"), ("disk/there", "here"), ("disk/there", "disk/inner/there"), ("disk/inner/there", "disk/there")])
@pytest.mark.parametrize("route", ["copy", "move"])
def test_a_tree_goes_to_another_file_system(across, route, source, to):
    across.run(argv=["sh", "-ec", MAKE, source])
    before = across.run(argv=["sh", "-ec", LOOK, source])
    assert before["exit_code"] == 0, before
    answer = across.request("POST", f"/v1/files:{route}", json={"from": source, "to": to})
    assert answer.status == 201, answer
    assert across.run(argv=["sh", "-ec", LOOK, to])["stdout"] == before["stdout"]
    assert across.run(argv=["sh", "-c", 'test -e "$0"', source])["exit_code"] == (0 if route == "copy" else 1)
    for name in ("file", "link", "hole"):
        answer = across.request("POST", f"/v1/files:{route}", json={"from": f"{to}/{name}", "to": source + name})
        assert answer.status == 201, (name, answer)
    across.run(argv=["rm", "-rf", source])


def test_a_directory_with_mounts_in_it_is_copied_and_not_moved(across):
    across.run("echo a >disk/a; echo b >disk/inner/b; echo c >disk/holder/c; echo d >disk/holder/inner/d")
    assert across.request("POST", "/v1/files:copy", json={"from": "disk", "to": "copied"}).status == 201
    assert across.run("cat copied/a copied/inner/b copied/holder/c copied/holder/inner/d")["stdout"] == "a\nb\nc\nd\n"
    for source in ("disk", "disk/inner", "disk/holder"):
        across.request("POST", "/v1/files:move", json={"from": source, "to": "moved"}).problem(409, "in_use")
    assert across.run("cat disk/a disk/inner/b disk/holder/c disk/holder/inner/d; ls")["stdout"] == "a\nb\nc\nd\ncopied\ndisk\n"
    operations = [{"op": "write", "path": "new/f", "content": "x"}, {"op": "move", "path": "disk/a", "to": "new/a"}]
    across.request("POST", "/v1/files:batch", json={"operations": operations}).problem(501, "not_supported")
    assert across.run("ls")["stdout"] == "copied\ndisk\n"
