"""`skiff files` and `skiff session`: files of a sandbox, and the sessions that they belong to."""

import random
import signal

from launcher import as_json
from waiting import until


def test_files_are_listed_printed_and_removed(skiff, box):
    noise = random.Random(5).randbytes(1_000_000)
    (skiff.root() / "sub").mkdir()
    (skiff.root() / "sub/noise").write_bytes(noise)
    assert skiff("files", "ls", "box", "-o", "name")[0] == "sub\n"
    assert " 977KiB " in skiff("files", "ls", "-r", "box")[0]
    process = skiff.start("files", "cat", "box", "sub/noise", "sub/noise")
    assert process.communicate(timeout=60)[0] == noise + noise
    assert "sub" in skiff("files", "rm", "box", "sub", status=125)[1]
    skiff("files", "rm", "-r", "box", "sub")
    assert not (skiff.root() / "sub").exists()
    skiff("files", "rm", "-f", "box", "sub")
    assert skiff("files", "cat", "box", "../record.json", status=125)[1]


def test_stdin_is_written_to_a_file(skiff, box):
    data = bytes(range(256)) * 10_000
    assert skiff("files", "write", "box", "made/on the way", typed=data) == ("", "")
    assert (skiff.root() / "made/on the way").read_bytes() == data
    assert as_json(skiff, "files", "write", "box", "empty", typed=b"") == {"path": "empty", "bytes": 0}
    assert (skiff.root() / "empty").read_bytes() == b""
    assert skiff("files", "write", "box", "../out", typed=b"x", status=125)[1]


def test_an_interrupt_while_stdin_is_written_leaves_the_file_as_it_was(skiff, box):
    (skiff.root() / "file").write_text("before")
    process = skiff.start("files", "write", "box", "file", stdin=-1)
    process.stdin.write(b"x" * 300_000)
    process.stdin.flush()  # more than a pipe holds: skiff reads
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    process.communicate()
    until(lambda: [path.name for path in skiff.root().iterdir()] == ["file"], what="only the file")
    assert (skiff.root() / "file").read_text() == "before"


def test_stat_tells_what_is_there_and_by_its_status_what_is_not(skiff, box):
    (skiff.root() / "file").write_text("12345")
    (skiff.root() / "link").symlink_to("nowhere")
    assert [(item["path"], item["type"]) for item in as_json(skiff, "files", "stat", "box", "file", "link")["items"]] == [
        ("file", "file"), ("link", "symlink")]
    assert "5B" in skiff("files", "stat", "box", "file")[0]
    assert skiff("files", "stat", "box", "none", status=1) == ("", "")
    assert skiff("files", "stat", "box", "none", "file", "-o", "name", status=1)[0] == "file\n"
    assert "leaves" in skiff("files", "stat", "box", "../record.json", status=125)[1]


def test_a_text_in_a_file_is_replaced(skiff, box):
    file = skiff.root() / "app.py"
    file.write_text("port = 80\nhost = ''\n")
    skiff("files", "edit", "box", "app.py", "--old", "port = 80", "--new", "port = 8080")
    assert file.read_text() == "port = 8080\nhost = ''\n"
    skiff("files", "edit", "box", "app.py", "--old", "host = ''\n")
    assert file.read_text() == "port = 8080\n"
    assert skiff("files", "edit", "box", "app.py", "--old", "0", "--new", "1", status=125)[1]
    skiff("files", "edit", "box", "app.py", "--old", "0", "--new", "1", "--count", "2")
    assert file.read_text() == "port = 8181\n"
    assert "--old is missing" in skiff("files", "edit", "box", "app.py", "--new", "1", status=125)[1]


def test_paths_and_lines_are_searched(skiff, box):
    (skiff.root() / "src/deep").mkdir(parents=True)
    (skiff.root() / "src/one.py").write_text("x = 1\n# TODO: more\n")
    (skiff.root() / "src/deep/two.py").write_text("y = 2  # todo\n")
    (skiff.root() / "three.txt").write_text("a.c\nabc\n")
    assert sorted(skiff("files", "glob", "box", "**/*.py")[0].splitlines()) == ["src/deep/two.py", "src/one.py"]
    assert skiff("files", "glob", "box", "src/*.py", "-o", "name")[0] == "src/one.py\n"
    assert len(as_json(skiff, "files", "glob", "box", "**/*.py")["items"]) == 2
    assert skiff("files", "grep", "box", "TODO")[0] == "src/one.py:2:# TODO: more\n"
    assert len(skiff("files", "grep", "-i", "box", "todo", "src")[0].splitlines()) == 2
    assert skiff("files", "grep", "-F", "box", "a.c")[0] == "three.txt:1:a.c\n"
    assert skiff("files", "grep", "box", "a.c", "-o", "name")[0] == "three.txt\n"
    assert skiff("files", "grep", "box", "nothing", status=1) == ("", "")
    assert skiff("files", "grep", "box", "(", status=125)[1]


# --- sessions ---

def test_sessions_are_made_used_listed_and_removed(skiff, box):
    assert skiff("session", "create", "box", "build", "--root", "src", "-e", "CI=1")[0] == "build\n"
    assert skiff("exec", "-s", "build", "box", "--", "sh", "-c", "pwd; echo $CI")[0] == f"{skiff.workdir()}/src\n1\n"
    made = skiff("session", "create", "box")[0].strip()
    assert skiff("session", "ls", "box", "-o", "name")[0].split() == ["build", "default", made]
    assert skiff("session", "ls", "box")[0].splitlines()[0].split() == ["ID", "AGE", "RUNNING", "CWD"]
    assert "build" in skiff("session", "create", "box", "build", status=125)[1]
    skiff("session", "rm", "box", "build", made)
    more = skiff.home / "more"
    more.mkdir()
    told = as_json(skiff, "session", "create", "box", "two", "--extra-root", more, "--extra-root", f"{skiff.home}:ro")
    assert told["extra_roots"] == [{"path": str(more), "access": "rw"}, {"path": str(skiff.home), "access": "ro"}]
    assert "absolute" in skiff("session", "create", "box", "--extra-root", "here", status=125)[1]
    skiff("session", "rm", "box", "two")
    assert skiff("session", "ls", "box", "-o", "name")[0] == "default\n"
    assert (skiff.root() / "src").is_dir()
    assert skiff("session", "rm", "box", "build", status=125)[1]


def test_files_of_a_session_begin_at_its_directory(skiff, box, tmp_path):
    skiff("session", "create", "box", "build", "--root", "src")
    here = ("-s", "build", "box")
    assert skiff("files", "write", *here, "a/note", typed=b"one\n") == ("", "")
    assert (skiff.root() / "src/a/note").read_text() == "one\n"
    assert skiff("files", "cat", *here, "a/note")[0] == "one\n"
    assert skiff("files", "edit", *here, "a/note", "--old", "one", "--new", "two") == ("", "")
    assert [item["path"] for item in as_json(skiff, "files", "ls", "--session", "build", "box")["items"]] == ["a"]
    assert skiff("files", "glob", *here, "**/note")[0] == "a/note\n"
    assert skiff("files", "grep", *here, "two")[0] == "a/note:1:two\n"
    assert skiff("files", "stat", *here, "a/note", "-o", "name")[0] == "a/note\n"
    assert skiff("files", "stat", "box", "a/note", status=1) == ("", ""), "it is of another session"
    # A session's file operations don't leave its root, which commands do.
    (skiff.root() / "above").write_text("secret")
    for words in (("cat", *here, "../above"), ("cat", *here, skiff.root() / "above"), ("rm", *here, "../above")):
        assert "session's root" in skiff("files", *words, status=125)[1], words
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/file").write_text("text")
    assert skiff("cp", "-s", "build", tmp_path / "tree", "box:tree") == ("", "")
    assert (skiff.root() / "src/tree/file").read_text() == "text"
    skiff("cp", "-s", "build", "box:tree/file", tmp_path / "back")
    assert (tmp_path / "back").read_text() == "text"
    process = skiff.start("cp", "-s", "build", "box:tree", "-")
    archive = process.communicate(timeout=60)[0]
    assert process.returncode == 0 and skiff("cp", "-s", "build", "-", "box:again", typed=archive) == ("", "")
    assert (skiff.root() / "src/again/file").read_text() == "text"
    assert "session's root" in skiff("cp", "-s", "build", "box:../above", tmp_path / "stolen", status=125)[1]
    assert not (tmp_path / "stolen").exists()
    skiff("files", "rm", *here, "-r", "a", "tree", "again")
    assert list((skiff.root() / "src").iterdir()) == []
    for wrong in ("none", "../default", "a/b"):
        assert "session" in skiff("files", "ls", "-s", wrong, "box", status=125)[1], wrong
