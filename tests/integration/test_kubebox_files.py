"""The dialect kubebox: what is where a file is asked for, and is none."""

import os

from kubebox import box, start_kubebox  # noqa: F401


def test_what_is_no_file_is_not_there(box):
    root = box.agent.root / "ws"
    (root / "loop").symlink_to("loop")
    (root / "broken").symlink_to("nowhere")
    os.mkfifo(root / "fifo")
    for name, exists in (("loop", False), ("broken", False), ("n" * 300, False), ("loop/x", False), ("fifo", True)):
        assert box.get("file_exists", session_id="s", file_path=name) == {"exists": exists}, name
        for route in ("read_file", "get_file"):
            assert box.get(route, 404, session_id="s", file_path=name) == {"detail": "File not found"}, name


def test_head_is_answered_where_get_is(box):
    box.post("write_file", session_id="s", file_path="f", content="four")
    head = box.request("HEAD", "/get_file?session_id=s&file_path=f")
    assert (head.status, head.headers["Content-Length"], head.body) == (200, "4", b"")
    for path in ("/", "/read_file?session_id=s&file_path=f", "/get_all_file_paths?session_id=s"):
        assert (box.request("HEAD", path).status, box.request("HEAD", path).body) == (200, b""), path
    assert box.request("HEAD", "/initialize").status == 405


def test_of_a_parameter_that_is_there_twice_the_last_one_counts(box):
    box.post("write_file", session_id="s", file_path="f", content="four")
    asked = "/read_file?session_id=nope&file_path=none&file_path=f&session_id=s"
    assert box.request("GET", asked).json() == {"content": "four"}
    assert box.request("GET", "/read_file?session_id=s&session_id=nope&file_path=f").status == 400


def test_links_to_directories_are_no_files(box):
    root = box.agent.root / "ws"
    (root / "d").mkdir()
    (root / "d/f").write_text("x")
    (root / "to-directory").symlink_to("d")
    (root / "to-file").symlink_to("d/f")
    (root / "broken").symlink_to("nowhere")
    assert sorted(box.get("get_all_file_paths", session_id="s")) == ["broken", "d/f", "to-file"]
