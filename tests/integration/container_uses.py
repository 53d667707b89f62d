"""Work in one sandbox with an image, as it is in a Pod and in a container of an engine: `shared` is a launcher with the sandbox
`box`, whose image has busybox and whose user is not root. Files of tests import these tests."""

import contextlib
import http.client
import os
import random
import signal
import subprocess

from terminal import Terminal


def test_streams_and_the_exit_status_are_the_commands(shared):
    assert shared("exec", "box", "--", "sh", "-c", "echo out; echo err >&2; exit 7", status=7) == ("out\n", "err\n")
    assert shared("exec", "-i", "box", "--", "sh", "-c", "read line; echo got $line", typed=b"this\n")[0] == "got this\n"
    assert shared("exec", "-w", "/tmp", "-e", "A=1", "box", "--", "sh", "-c", "pwd; echo $A")[0] == "/tmp\n1\n"
    shared("exec", "box", "--", "sh", "-c", "kill -TERM $$", status=143)
    shared("exec", "box", "--", "no-such-program", status=127)


def answers_each_line(launcher):
    """A command's output comes as it is written, and so does its input."""
    process = launcher.start("exec", "-i", "box", "--", "sh", "-c", "while read line; do echo got $line; done", stdin=subprocess.PIPE)
    for word in (b"one\n", b"two\n"):
        process.stdin.write(word)
        process.stdin.flush()
        assert process.stdout.readline() == b"got " + word
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_output_comes_as_it_is_written(shared):
    answers_each_line(shared)


def test_much_comes_and_goes_whole(shared):
    data = random.Random(5).randbytes(8_000_000)
    process = shared.start("exec", "-i", "box", "--", "cat", stdin=subprocess.PIPE)
    out, err = process.communicate(data, timeout=100)
    assert (process.returncode, err) == (0, b"")
    assert out == data


def test_an_interrupt_is_passed_on(shared):
    process = shared.start("exec", "box", "--", "sh", "-c", "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.05; done")
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (5, b"caught\n"), err


def test_a_shell_has_a_terminal_of_the_right_size(shared):
    with Terminal(shared.start, "shell", "box") as terminal:
        terminal.ready()
        terminal.type(b"stty size; hostname\n")
        terminal.seen(b"50 132")
        terminal.seen(shared("exec", "box", "hostname")[0].strip().encode())
        terminal.resize(99, 33)
        terminal.type(b"until [ \"$(stty size)\" = '33 99' ]; do sleep 0.02; done; echo res''ized\n")
        terminal.seen(b"resized")
        terminal.type(b"exit 7\n")
        terminal.until(lambda: terminal.process.poll() is not None, "its end")
        assert terminal.process.returncode == 7


def test_files_and_directories_are_copied_either_way(shared):
    tree = shared.work / "tree"
    (tree / "deep").mkdir(parents=True)
    data = random.Random(6).randbytes(3_000_000)
    (tree / "deep/file").write_bytes(data)
    (tree / "run").write_text("#!/bin/sh\necho ran\n")
    (tree / "run").chmod(0o750)
    (tree / "link").symlink_to("deep/file")
    shared("cp", tree, "box:copied")
    assert shared("exec", "box", "--", "sh", "-c", "./copied/run; stat -c %a copied/run; readlink copied/link")[0] == "ran\n750\ndeep/file\n"
    shared("cp", "box:copied", shared.work / "back")
    assert (shared.work / "back/deep/file").read_bytes() == data
    assert os.stat(shared.work / "back/run").st_mode & 0o777 == 0o750
    assert os.readlink(shared.work / "back/link") == "deep/file"
    assert "copied" in shared("files", "ls", "box")[0]


def test_paths_from_the_root_of_the_container_are_those_of_docker_and_kubectl(shared):
    (shared.work / "note").write_text("hello")
    shared("cp", "note", "box:/tmp/there")
    assert shared("exec", "box", "cat", "/tmp/there")[0] == "hello"
    shared("cp", "box:/tmp/there", "note-again")
    shared("cp", "box:/etc/passwd", "passwd")
    assert (shared.work / "note-again").read_text() == "hello" and "root:" in (shared.work / "passwd").read_text()
    assert "Permission denied" in shared("cp", "note", "box:/etc/there", status=125)[1]
    assert shared("session", "ls", "box", "-o", "name")[0] == "default\n"


def test_background_commands_are_found_again(shared):
    assert shared("exec", "--mode", "background", "--id", "job", "-i", "box", "--", "sh", "-c", "echo one; read line; echo $line; exit 4")[0] == "job\n"
    assert "job" in shared("top", "box")[0]
    assert shared("attach", "box", "job", typed=b"two\n", status=4)[0] == "one\ntwo\n"
    assert shared("logs", "box", "job")[0] == "one\ntwo\n"


def test_ports_are_forwarded(shared):
    data = random.Random(7).randbytes(2_000_000)
    (shared.work / "page").write_bytes(data)
    shared("cp", shared.work / "page", "box:page")
    shared("exec", "--mode", "background", "box", "--", "httpd", "-f", "-p", "8080", "-h", "/workspace")
    shared("exec", "box", "--", "sh", "-c", "until nc 127.0.0.1 8080 </dev/null; do sleep 0.05; done")
    process = shared.start("forward", "box", ":8080")
    try:
        port = int(process.stdout.readline().decode().split(" -> ")[0].rsplit(":", 1)[1])
        connections = [http.client.HTTPConnection("127.0.0.1", port, timeout=60) for _ in range(3)]
        for each in connections:
            each.request("GET", "/page")
        for each in connections:
            with contextlib.closing(each):
                assert each.getresponse().read() == data
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    finally:
        process.kill()
        process.communicate()


# langchain-kubernetes: get or create, with reconnect
def test_a_name_is_taken_once(shared):
    assert "already" in shared("up", "box", status=125)[1]
    again = shared.json("up", "box", "--get-or-create", "-q")
    assert again["new"] is False and again["id"] == shared.json("describe", "box")["id"]
