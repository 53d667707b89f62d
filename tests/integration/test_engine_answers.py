"""The driver docker with programs in an engine's place that fail, lie or hang: it says what they said, and leaves nothing."""

import os
import shutil
import signal

import pytest

from launcher import Skiff
from waiting import until

ID, OTHER_ID = "0123456789abcdef" * 4, "fedcba9876543210" * 4
INFO = '{"MemoryLimit": true, "CpuCfsQuota": true, "PidsLimit": true}'
#: An engine that does all that is asked of it, and hosts nothing.
USUAL = {"version": "exit 0", "info": f"echo '{INFO}'", "create": f"echo {ID}", "cp": "cat > /dev/null", "start": "exit 0",
         "inspect": "echo '[{\"State\": {\"Running\": false, \"ExitCode\": 3, \"Error\": \"broken\"}}]'",
         "stop": "exit 0", "ps": "exit 0", "rm": "exit 0", "logs": "exit 0"}


@pytest.fixture
def skiff(tmp_path):
    one = Skiff(tmp_path)
    one.sandboxes = one.state / "skiff/docker"
    yield one
    assert one.names() == []


@pytest.fixture
def engine(tmp_path):
    """`engine(call=script)`: a program in the place of docker, and the variables that name it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for program in ("sh", "cat", "sleep"):  # the machine's own engines are not asked
        os.symlink(shutil.which(program), folder / program)

    def write(name="docker", **calls):
        cases = "".join(f"{call}) {script} ;;\n" for call, script in {**USUAL, **calls}.items())
        (folder / name).write_text(f"#!/bin/sh\necho \"$@\" >> {tmp_path}/calls\ncase $1 in\n{cases}esac\n")
        (folder / name).chmod(0o755)
        return {"SKIFF_DRIVER": "docker", "PATH": str(folder)}

    return write


def calls(folder):
    return (folder / "calls").read_text().splitlines()


def test_without_an_engine_each_one_is_named(skiff, engine, tmp_path):
    env = engine(version="echo 'Cannot connect to the Docker daemon' >&2; exit 1")
    _, err = skiff("up", "box", "-q", env=env, status=125)
    assert "no container engine answers (docker, podman or nerdctl)" in err
    assert "`docker version` failed: Cannot connect to the Docker daemon" in err
    assert "podman is not installed" in err and "nerdctl is not installed" in err
    named = skiff("up", "box", "-q", env={**env, "SKIFF_ENGINE": "/no/such/engine"}, status=125)[1]
    assert "SKIFF_ENGINE=/no/such/engine" in named and "/no/such/engine is not installed" in named


def test_without_an_engine_there_are_no_sandboxes(skiff, engine):
    assert skiff.json("ps", env={**engine(), "SKIFF_ENGINE": "/no/such/engine"})["items"] == []


def test_the_first_engine_that_answers_is_taken(skiff, engine, tmp_path):
    engine(name="docker", version="exit 1")
    env = engine(name="podman", create="echo 'the podman' >&2; exit 125")
    assert "`podman create` failed: the podman" in skiff("up", "box", "-q", env=env, status=125)[1]
    assert [line.split()[0] for line in calls(tmp_path)[:4]] == ["version", "version", "info", "create"]


@pytest.mark.parametrize(("call", "script", "why"), [
    ("info", "echo '[]'", "the answer of `info` cannot be read"),
    ("info", "echo nonsense", "the answer of `info` cannot be read"),
    ("create", "echo 'out of luck' >&2; exit 1", "`docker create` failed: out of luck"),
    ("create", "exit 3", "`docker create` failed: it ended with status 3"),
    ("create", "kill -9 $$", "`docker create` failed: it was killed by signal 9"),
    ("create", "echo ../../etc", "the answer of `create` cannot be read"),
    ("create", "printf '\\033[31mred\\377' >&2; exit 1", "red"),
    ("cp", "cat >/dev/null; echo 'no space left' >&2; exit 1", "`docker cp` failed: no space left"),
    ("start", "echo 'OCI runtime error' >&2; exit 126", "`docker start` failed: OCI runtime error"),
    ("inspect", "echo '{}'", "the answer of `inspect` cannot be read"),
    ("inspect", "echo '[{\"State\": {\"Running\": true}}]'", "has published no port of 127.0.0.1"),
])
def test_a_failure_is_told_in_the_words_of_the_engine(skiff, engine, tmp_path, call, script, why):
    _, err = skiff("up", "box", "-q", env=engine(**{call: script}), status=125)
    assert why in err and "\033" not in err, err
    if call in ("cp", "start", "inspect"):
        assert any(line.startswith("stop ") for line in calls(tmp_path)), "what was made is taken back"


def test_a_named_limit_that_cannot_be_held_is_refused_and_a_default_is_left_out(skiff, engine, tmp_path):
    env = engine(info="echo '{\"MemoryLimit\": false, \"CpuCfsQuota\": false, \"PidsLimit\": false}'",
                 create="echo refused >&2; exit 1")
    skiff("up", "box", "-q", env=env, status=125)
    created = [line for line in calls(tmp_path) if line.startswith("create ")][0].split()
    assert not {"--memory", "--cpus", "--pids-limit"} & set(created)
    assert "--memory cannot be held" in skiff("up", "box", "-q", "--memory", "1Gi", env=env, status=125)[1]


def test_variables_are_not_on_a_command_line(skiff, engine, tmp_path):
    skiff("up", "box", "-q", "-e", "API_KEY=secret-value", env=engine(), status=125)
    assert "create" in "".join(calls(tmp_path)) and "secret-value" not in "".join(calls(tmp_path))


def test_a_container_that_ends_at_once_is_told_with_its_log(skiff, engine):
    err = skiff("up", "box", "-q", env=engine(logs="echo 'exec format error' >&2"), status=125)[1]
    assert "its container ended with status 3: broken" in err and "exec format error" in err


def test_an_engine_that_hangs_is_ended(skiff, engine, tmp_path):
    process = skiff.start("up", "box", "-q", "--wait", "1s", env=engine(create=f"echo $$ > {tmp_path}/pid; exec sleep 1000"))
    err = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 125 and "`docker create` did not end within 1 s" in err
    pid = int((tmp_path / "pid").read_text())
    until(lambda: not os.path.exists(f"/proc/{pid}"))


@pytest.mark.parametrize("call", ["create", "start"])
def test_a_sandbox_of_an_engine_that_was_uninstalled_is_removed_by_force_alone(skiff, engine, tmp_path, call):
    env = {**engine(**{call: f"echo $$ > {tmp_path}/pid; exec sleep 1000"}), "SKIFF_ENGINE": str(tmp_path / "bin/docker")}
    process = skiff.start("up", "box", "-q", env=env)
    until((tmp_path / "pid").exists)
    process.kill()
    process.communicate()
    until(lambda: (tmp_path / "pid").read_text().endswith("\n"))
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    (tmp_path / "bin/docker").unlink()
    err = skiff("rm", "box", env=env, status=125)[1]
    assert "docker is not installed" in err and "may still run" in err and "skiff rm --force box" in err, err
    assert skiff.names() == ["box"]
    if call == "start":  # there is a container that may run
        assert "may still run" in skiff("stop", "box", env=env, status=125)[1]
        assert not skiff.record().get("stopped")
        skiff("stop", "box", "--force", "-q", env=env)
        assert skiff.record()["stopped"]
    skiff("rm", "box", "--force", "-q", env=env)


def test_a_container_that_the_list_does_not_have_is_removed(skiff, engine, tmp_path):
    """As one that was made when the state directory had another signing key."""
    skiff("up", "box", "-q", env=engine(start="exit 1"), status=125)
    assert [line for line in calls(tmp_path) if line.startswith("rm ")] == [f"rm --force --volumes {ID}"]


def test_a_container_whose_record_cannot_be_read_is_left_alone(skiff, engine, tmp_path):
    skiff("up", "box", "-q", env=engine(create="exit 1"), status=125)
    (skiff.sandboxes / "box").mkdir(mode=0o700)
    (skiff.sandboxes / "box/record.json").write_text("{")
    env = engine(ps=f"echo '{ID} skiff-box.s-1 Up 3 minutes'")
    assert [one["state"] for one in skiff.json("ps", env=env)["items"]] == ["failed"]
    assert not [line for line in calls(tmp_path) if line.startswith("rm ")]
    skiff("rm", "box", "-q", env=env)
    assert [line for line in calls(tmp_path) if line.startswith("rm ")] == [f"rm --force --volumes {ID}"]


def left(id):
    return f"echo '{id} skiff-gone.s-1 Up 3 minutes'"


def removed(folder):
    return sorted(line.split()[-1] for line in calls(folder) if line.startswith("rm "))


def test_what_was_left_is_removed_from_every_engine(skiff, engine, tmp_path):
    skiff("up", "box", "-q", env=engine(create="exit 1"), status=125)
    engine(name="docker", ps=left(ID))
    env = engine(name="podman", ps=left(OTHER_ID))
    assert "looked at" not in skiff("gc", env=env)[1]
    assert removed(tmp_path) == [ID, OTHER_ID]


def test_an_engine_alone_is_asked_if_it_is_named(skiff, engine, tmp_path):
    skiff("up", "box", "-q", env=engine(create="exit 1"), status=125)
    engine(name="docker", ps=left(ID))
    skiff("gc", env={**engine(name="podman", ps=left(OTHER_ID)), "SKIFF_ENGINE": "podman"})
    assert removed(tmp_path) == [OTHER_ID]


def test_an_engine_that_does_not_answer_is_told_and_the_others_are_asked(skiff, engine, tmp_path):
    skiff("up", "box", "-q", env=engine(create="exit 1"), status=125)
    engine(name="docker", ps="echo 'Cannot connect' >&2; exit 1")
    env = engine(name="podman", ps=left(ID))
    err = skiff("gc", env=env)[1]
    assert "not everything was looked at: `docker ps` failed: Cannot connect" in err and "nerdctl" not in err, err
    assert removed(tmp_path) == [ID]


def test_a_record_that_cannot_be_read_may_have_a_container_of_any_engine(skiff, engine, tmp_path):
    skiff("up", "box", "-q", env=engine(create="exit 1"), status=125)
    (skiff.sandboxes / "box").mkdir(mode=0o700)
    (skiff.sandboxes / "box/record.json").write_text("{")
    engine(name="docker", ps="echo 'Cannot connect' >&2; exit 1")
    env = engine(name="podman", ps=f"echo '{ID} skiff-box.s-1 Up 3 minutes'")
    err = skiff("rm", "box", env=env, status=125)[1]
    assert "Cannot connect" in err and "may still run" in err and "skiff rm --force box" in err, err
    assert skiff.names() == ["box"] and removed(tmp_path) == []
    engine(name="docker")
    skiff("rm", "box", "-q", env=env)
    assert removed(tmp_path) == [ID]


def test_a_list_with_strange_lines_is_read(skiff, engine, tmp_path):
    lines = f"x y\\n{ID} other Up\\n{ID} skiff-../x.s-1 Up\\n{ID} skiff-gone.s-1 Up 3 minutes\\n"
    skiff("up", "box", "-q", env=engine(create="exit 1"), status=125)
    assert skiff.json("ps", env=engine(ps=f"printf '{lines}'"))["items"] == []
    assert [line for line in calls(tmp_path) if line.startswith("rm ")] == [f"rm --force --volumes {ID}"]
