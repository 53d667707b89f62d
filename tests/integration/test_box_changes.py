"""`skiff changes` and `skiff apply`: what a box has changed in a directory of this machine, with real boxes."""

import base64
import os
import signal
import subprocess

import pytest

from boxes import skiff  # noqa: F401
from mcp_stdio import Stdio
from tools import tool
from waiting import until


@pytest.fixture
def project(skiff):
    folder = skiff.work / "project"
    for path, text in {"a": "a\n", "sub/b": "b\n", "sub/c": "c\n", "tool": "#!/bin/sh\n", "old/deep/file": "x\n"}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    for path in (folder, *folder.rglob("*")):
        skiff.own(path)
    return folder


def contents(folder):
    return {str(path.relative_to(folder)): os.readlink(path) if path.is_symlink() else path.read_text()
            for path in folder.rglob("*") if path.is_symlink() or path.is_file()}


def changes(skiff, *paths):
    """["A path", ...], with a slash after directories."""
    return [" ".join(line.split("  ")[:2]) for line in skiff("changes", "box", *paths)[0].splitlines()]


def test_changes_are_shown_and_applied_while_it_runs_and_when_it_is_stopped(skiff, project):
    before = contents(project)
    skiff.up("box", "--mount", project)
    assert changes(skiff) == []
    skiff.sh("set -e; echo more >> a; rm sub/b; mkdir new; echo n > new/n; chmod +x sub/c; rm -r old; ln -s a link; touch -c tool; cat tool >/dev/null")
    expected = ["M a", "A link -> a", "A new/", "A new/n", "D old/", "D sub/b", "M sub/c"]
    assert changes(skiff) == expected and contents(project) == before
    skiff("stop", "box")
    assert changes(skiff) == expected
    done = skiff("apply", "box")[0].splitlines()
    assert [" ".join(line.split("  ")[:2]) for line in done] == expected
    assert contents(project) == {"a": "a\nmore\n", "link": "a", "new/n": "n\n", "sub/c": "c\n", "tool": "#!/bin/sh\n"}
    assert (project / "sub/c").stat().st_mode & 0o777 == 0o755
    assert {path.lstat().st_uid for path in project.rglob("*")} == {skiff.uid}
    assert changes(skiff) == [] and skiff("apply", "box")[0] == ""
    skiff("start", "box", "-q")
    assert skiff.sh("cat a new/n; ls") == "a\nmore\nn\na\nlink\nnew\nsub\ntool\n"
    skiff.sh("echo again >> a; rm -r new")
    assert changes(skiff) == ["M a", "D new/"]
    skiff("apply", "box")
    assert contents(project) == {"a": "a\nmore\nagain\n", "link": "a", "sub/c": "c\n", "tool": "#!/bin/sh\n"}


def test_only_what_is_named_is_applied(skiff, project):
    skiff.up("box", "--mount", project)
    skiff.sh("echo 1 >> a; echo 1 >> sub/b; echo 1 >> sub/c; rm -r old")
    assert changes(skiff, "sub") == ["M sub/b", "M sub/c"]
    for path in ("sub/b", "/workspace/sub/b", project / "sub/b", "./sub//b"):
        assert changes(skiff, path) == ["M sub/b"], path
    skiff("apply", "box", "sub/b", "old/deep")
    assert changes(skiff) == ["M a", "D old/", "M sub/c"]
    assert not (project / "old/deep").exists() and (project / "old").exists()
    for path, what in (("nothing", "there is no"), ("../x", "holds"), ("/etc/passwd", "is absolute")):
        for command in ("changes", "apply"):
            assert what in skiff(command, "box", path, status=125)[1]


def test_a_file_that_both_have_changed_is_a_conflict(skiff, project):
    skiff.up("box", "--mount", project)
    skiff.sh("echo its > a.new; mv a.new a; echo its >> sub/c")
    (project / "a").write_text("mine\n")
    out, err = skiff("changes", "box")
    assert "conflict" in out.splitlines()[0] and "conflict" not in out.splitlines()[1], out
    out, err = skiff("apply", "box", status=1)
    assert out == "M  sub/c\n" and "left out: a: it has changed here" in err
    assert contents(project)["a"] == "mine\n"
    said = skiff.json("apply", "box", status=1)
    assert said["applied"] == [] and [(one["path"], one["reason"]) for one in said["left_out"]] == [("a", "conflict")]


def test_what_runs_on_this_machine_needs_yes(skiff, project):
    subprocess.run([tool("git"), "init", "-q", project], check=True)
    for path in (project / ".git").rglob("*"):
        skiff.own(path)
    skiff.own(project / ".git")
    skiff.up("box", "--mount", project)
    skiff.sh("set -e; git config user.email a@b; git config user.name a; git add -A; git commit -qm one; "
             "echo x > .git/hooks/pre-commit; echo all: > Makefile; ln -s /etc/passwd out; ln -s a in")
    out, err = skiff("apply", "box", status=1)
    left = {line.split(": ")[2] for line in err.splitlines()}
    assert {".git/config", ".git/hooks/pre-commit", "Makefile", "out"} <= left and "in" not in left, err
    log = subprocess.run([tool("git"), "-c", "safe.directory=*", "-C", project, "log", "--format=%s"], capture_output=True, text=True)
    assert log.stdout == "one\n", log.stderr
    assert not (project / "Makefile").exists() and not (project / ".git/hooks/pre-commit").exists()
    skiff("apply", "box", "--yes", "Makefile", "out")
    assert (project / "Makefile").read_text() == "all:\n" and os.readlink(project / "out") == "/etc/passwd"


def test_a_diff_is_one_for_git(skiff, project):
    skiff.up("box", "--mount", project)
    skiff.sh("printf 'a\\nb' > a; rm sub/b; mkdir new; echo n > 'new/o d'; ln -s a link; chmod +x sub/c; rm -r old; head -c 100 /dev/zero > zeros")
    out, _ = skiff("changes", "box", "--diff", "a", "sub", "new", "link")
    copy = skiff.work / "copy"
    subprocess.run(["cp", "-a", project, copy], check=True)
    done = subprocess.run([tool("git"), "apply", "-"], input=out, cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, (done.stderr, out)
    skiff("apply", "box", "a", "sub", "new", "link")
    assert contents(copy) == contents(project)
    assert "Binary files a/zeros and b/zeros differ" in skiff("changes", "box", "--diff", "zeros")[0]
    assert skiff.json("changes", "box", "--diff", "zeros")["items"][0]["binary"] is True


def test_odd_names_and_files_are_shown_safely_and_left_out(skiff, project):
    skiff.up("box", "--mount", project)
    skiff.sh(r"""python3 - <<'END'
import os, socket
os.mkfifo("fifo"); socket.socket(socket.AF_UNIX).bind("socket")
open(b"line\nD  a", "w"); open(b"\x1b[2Jred", "w"); open(b"not-utf8-\xff", "w")
END""")
    out, _ = skiff("changes", "box")
    assert "\x1b" not in out and len(out.splitlines()) == 5, out
    assert "A  line\\x0aD  a" in out and "A  fifo  (fifo)" in out and "A  socket  (socket)" in out, out
    odd = next(one for one in skiff.json("changes", "box")["items"] if "path_base64" in one)
    assert base64.b64decode(odd["path_base64"]) == b"not-utf8-\xff"
    _, err = skiff("apply", "box", status=1)
    assert "left out: fifo: a fifo is not copied" in err and "left out: socket" in err
    assert sorted(name for name in os.listdir(os.fsencode(project)) if name not in (b"a", b"sub", b"tool", b"old")) == [
        b"\x1b[2Jred", b"line\nD  a", b"not-utf8-\xff"]


def test_links_of_the_sandbox_lead_nowhere(skiff, project, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("precious")
    for path in (outside, outside / "precious"):
        skiff.own(path)
    skiff.up("box", "--mount", project)
    skiff.sh(f"ln -s {outside} out; ln -s {outside}/precious file")
    skiff("apply", "box", "--yes")
    assert os.readlink(project / "out") == str(outside)
    skiff.sh("set -e; rm out file; mkdir out; echo its > out/precious; echo its > out/new; echo its > file")
    skiff("apply", "box", "--yes")
    assert os.listdir(outside) == ["precious"] and (outside / "precious").read_text() == "precious"
    assert (project / "out/new").read_text() == "its\n" and (project / "file").read_text() == "its\n"


def test_apply_while_the_sandbox_exchanges_directories_and_links(skiff, project, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    for path in (outside, outside / "secret"):
        skiff.own(path)
    skiff.up("box", "--mount", project)
    racing = skiff.start("exec", "box", "--", "sh", "-c", f"""
        mkdir -p real; ln -s {outside} link; echo ready
        while :; do mkdir d 2>/dev/null; echo its > d/secret; echo its > d/new; rm -rf d; ln -s {outside} d; rm -f d; done 2>/dev/null""")
    try:
        assert racing.stdout.readline() == b"ready\n"
        for _ in range(15):
            skiff.start("apply", "box", "--yes").communicate(timeout=100)
    finally:
        racing.terminate()
        racing.communicate()
    assert os.listdir(outside) == ["secret"] and (outside / "secret").read_text() == "secret"
    for path in project.rglob("*"):
        assert path.is_symlink() or path.is_dir() or path.read_text() != "secret", path


def test_what_takes_the_place_of_the_directory_is_not_touched(skiff, project):
    skiff.up("box", "--mount", project)
    skiff.sh("echo its > a")
    away = project.rename(project.with_name("away"))
    for put, remove in ((project.mkdir, project.rmdir), (lambda: project.symlink_to(away), project.unlink)):
        put()
        for command in ("changes", "apply"):
            assert "another directory has taken the place" in skiff(command, "box", status=125)[1]
        remove()
    assert contents(away)["a"] == "a\n"


def test_sandboxes_without_such_a_directory_say_so(skiff, project):
    skiff.up("plain")
    skiff.up("reader", "--mount", f"{project}:ro")
    for command in ("changes", "apply"):
        assert "--mount DIR" in skiff(command, "plain", status=125)[1]
        assert "may only read" in skiff(command, "reader", status=125)[1]
        assert "no sandbox" in skiff(command, "nobody", status=125)[1]
        err = skiff(command, "plain", "--driver", "local", status=125)[1]
        assert "driver local" in err and "--driver box" in err, err


def test_what_is_applied_stays_when_the_sandbox_goes(skiff, project):
    skiff.up("box", "--mount", project)
    skiff.sh("echo its > new")
    skiff("apply", "box")
    skiff("rm", "box", "-q", "-f")
    assert (project / "new").read_text() == "its\n" and skiff.names() == []
    until(lambda: not skiff.processes())


# --- attacks: what a hostile sandbox may leave for `apply` ---

def left_out(skiff, *paths):
    """{path: reason} of an apply that leaves something out."""
    return {one["path"]: one["reason"] for one in skiff.json("apply", "box", *paths, status=1)["left_out"]}


def test_hooks_behind_a_parent_that_was_renamed_need_yes(skiff, project):
    for path in (".git/hooks/sample", ".git/config", ".git/HEAD"):
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text("mine\n")
    for path in (project / ".git", *(project / ".git").rglob("*")):
        skiff.own(path)
    skiff.up("box", "--mount", project)
    skiff.sh("set -e; mv .git g; echo its > g/hooks/pre-commit; echo its > g/config; mv g .git; mv .git/hooks .git/h; mv .git/h .git/hooks")
    assert {".git/config", ".git/hooks/pre-commit"} <= left_out(skiff).keys()
    assert contents(project)[".git/config"] == "mine\n" and sorted(os.listdir(project / ".git/hooks")) == ["sample"]


def test_names_that_file_systems_fold_and_bare_repositories_need_yes(skiff, project):
    skiff.up("box", "--mount", project)
    skiff.sh("set -e; mkdir -p .GIT/hooks .git./hooks 'GIT~1' bare/refs bare/objects; echo x > .GIT/hooks/a; echo x > .git./hooks/a; "
             "echo x > GIT~1/config; echo x > bare/HEAD; echo x > bare/config; echo x > MakeFile; printf x > $(printf '.g\\342\\200\\214itmodules')")
    left = left_out(skiff)
    assert {".GIT/hooks/a", ".git./hooks/a", "GIT~1/config", "bare/HEAD", "MakeFile", ".g\u200citmodules"} <= left.keys()
    assert set(left.values()) == {"consent"}


def test_a_sandbox_cannot_forge_the_marks_of_its_layer(skiff, project):
    skiff.up("box", "--mount", project)
    skiff.sh(r"""python3 - <<'END'
import contextlib, os, stat
for name in ("opaque", "whiteout", "redirect", "origin", "metacopy"):
    for path in ("sub", "sub/b", "."):
        for value in (b"y", b"x", b"/etc"):
            with contextlib.suppress(OSError): os.setxattr(path, f"user.overlay.{name}", value)
            with contextlib.suppress(OSError): os.setxattr(path, f"trusted.overlay.{name}", value)
for path in ("sub/c", "gone"):
    with contextlib.suppress(OSError): os.mknod(path, stat.S_IFCHR, 0)
END""")
    before = contents(project)
    assert not [line for line in changes(skiff) if line.startswith("D")]
    skiff.start("apply", "box", "--yes").communicate(timeout=100)
    assert contents(project) == before


def test_links_of_proc_and_odd_targets_are_only_copied(skiff, project):
    skiff.up("box", "--mount", project)
    skiff.sh("ln -s /proc/self/root/etc r; ln -s /proc/self/cwd/a c; ln -s ../../../../etc/passwd p; ln -s loop loop; "
             "ln -s $(head -c 4000 /dev/zero | tr '\\0' x) long; ln -s \"$(printf 'a\\033[2J')\" escape")
    assert left_out(skiff) == {"r": "consent", "c": "consent", "p": "consent"}
    out, _ = skiff("changes", "box", "--diff")
    skiff("apply", "box", "--yes")
    assert os.readlink(project / "r") == "/proc/self/root/etc" and os.readlink(project / "loop") == "loop"
    assert "root:" not in out


def test_files_that_grow_or_become_fifos_hold_up_nobody(skiff, project):
    skiff.up("box", "--mount", project)
    racing = skiff.start("exec", "box", "--", "sh", "-c", """
        echo ready; (while :; do echo more >> grows; done) &
        while :; do echo x > swapped; rm swapped; mkfifo swapped; rm swapped; done 2>/dev/null""")
    try:
        assert racing.stdout.readline() == b"ready\n"
        for _ in range(5):
            skiff.start("changes", "box", "--diff").communicate(timeout=100)
            skiff.start("apply", "box").communicate(timeout=100)
    finally:
        racing.terminate()
        racing.communicate()
    assert (project / "grows").stat().st_size > 0


def test_huge_deep_and_closed_trees(skiff, project):
    skiff.up("box", "--mount", project)
    skiff.sh(r"""truncate -s 1T huge; mkdir closed; echo x > closed/x; chmod 0 closed; python3 - <<'END'
import os
for _ in range(1500):
    os.mkdir("deep" * 20); os.chdir("deep" * 20)
END""")
    said = skiff.json("apply", "box", status=1)
    reasons = {one["path"][:6]: one["reason"] for one in said["left_out"]}
    assert reasons == ({"deepde": "unreadable"} | ({"closed": "unreadable"} if skiff.uid else {})), said["left_out"]
    assert (project / "huge").stat().st_size == 1 << 40 and (project / "huge").stat().st_blocks < 1000
    (project / "huge").unlink()
    if skiff.uid == 0:
        assert (project / "closed").stat().st_mode & 0o777 == 0


def test_hard_links_and_names_like_options_are_copies(skiff, project):
    skiff.up("box", "--mount", project)
    skiff.sh("ln a b; ln a -- -rf; mkdir -- --help; echo x > '--help/...'; echo y >> b")
    skiff("apply", "box")
    assert contents(project)["b"] == contents(project)["-rf"] == "a\ny\n" and (project / "--help/...").exists()
    assert (project / "b").stat().st_nlink == 1


@pytest.mark.parametrize("leave", ["stdin is closed", "SIGTERM"])
def test_what_a_model_has_written_stays_after_its_client(skiff, project, leave):
    client = Stdio(skiff, "--mount", project, driver="box")
    told = client.begin()["instructions"]
    (name,) = skiff.names()
    skiff.users.add(skiff.record(name)["user"])
    assert str(project) in told
    for verb in ("changes", "apply"):
        assert f"`skiff {verb} {name} --driver box`" in told, told
    client.tool("run_command", command="echo its >> a; echo first > log")
    client.tool("run_command", command="while :; do echo more >> log; done", background=True)
    if leave == "SIGTERM":
        client.process.send_signal(signal.SIGTERM)
    err = client.end(143 if leave == "SIGTERM" else 0)[1]
    assert f'sandbox "{name}" is kept: it has 2 changes to {project}.' in err, err
    for verb in ("changes", "apply", "rm"):
        assert f"`skiff {verb} {name} --driver box`" in err, err
    assert skiff.json("ps", name)["state"] == "stopped" and not skiff.processes()
    skiff("gc")
    assert skiff("apply", name, "a")[0] == "M  a\n" and (project / "a").read_text() == "a\nits\n"
    assert skiff("rm", name)[0] == f"{name}\n" and skiff.names() == []
    assert not (project / "log").exists()


def test_a_client_that_has_changed_nothing_leaves_no_sandbox(skiff, project):
    for mount in (project, f"{project}:ro"):
        client = Stdio(skiff, "--mount", mount, driver="box")
        told = client.begin()["instructions"]
        assert ("skiff apply" in told) == (mount == project)
        skiff.users.add(skiff.record(skiff.names()[0])["user"])
        # A file that is written and removed again is not a change.
        client.tool("run_command", command="cat a; echo x > new; rm new; cp a b; mv b a")
        assert "is kept" not in client.end()[1]
        assert skiff.names() == []


def test_changes_that_cannot_be_told_keep_the_sandbox(skiff, project):
    client = Stdio(skiff, "--mount", project, driver="box")
    client.begin()
    (name,) = skiff.names()
    skiff.users.add(skiff.record(name)["user"])
    client.tool("run_command", command="echo its >> a")
    project.rename(project.with_name("moved"))
    err = client.end()[1]
    assert f'sandbox "{name}" is kept: it has perhaps changes to {project}' in err, err
    assert skiff.json("ps", name)["state"] == "stopped"


def test_rm_drops_the_changes(skiff, project):
    before = contents(project)
    skiff.up("box", "--mount", project)
    skiff.sh("echo its >> a; rm -r old; echo new > new")
    assert skiff("rm", "box")[0] == "box\n"
    assert contents(project) == before and skiff.names() == [] and not list(skiff.sandboxes.glob("*/root"))
    skiff.up("box", "--mount", project)
    assert changes(skiff) == [] and skiff.sh("ls") == "a\nold\nsub\ntool\n"
