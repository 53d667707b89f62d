"""Root directories that lack what others have: /dev, /proc, a passwd entry, a home. The agent says what is missing, by the
kernel's own reason, and does what can be done without."""

import contextlib
import os
import shutil
import subprocess

import pytest

from agent import Agent, binary
from confined import private_mounts

MOUNTS = {"proc": "mount -t proc proc {}/proc", "dev": "mount --rbind /dev {}/dev"}
as_root = pytest.mark.skipif(os.geteuid() != 0 or bool(os.environ.get("SKIFFD_SANITIZER")),
                             reason="only root changes its root directory, and a sanitizer needs /proc")


@contextlib.contextmanager
def agent_in(tmp_path, *mounts):
    """An agent whose root directory has skiffd and these mounts alone. What it leaves can't be looked for there."""
    root = tmp_path / "bare"
    for name in ("proc", "dev", "work"):
        (root / name).mkdir(parents=True)
    shutil.copy2(binary(), root / "skiffd")
    script = " && ".join([*(MOUNTS[one].format(root) for one in mounts),
                          f'shift && exec chroot {root} /skiffd "$@" --root /work --allow-unauthenticated'])
    folder = tmp_path / "agent"
    folder.mkdir()
    agent = Agent(folder, credential=False, wrapper=[*private_mounts(), "sh", "-c", script, "sh"])
    try:
        yield agent
    finally:
        agent.process.terminate()
        agent.process.wait(timeout=30)


@as_root
def test_without_devices_it_says_so_and_runs_commands(tmp_path):
    with agent_in(tmp_path, "proc") as agent:
        assert "/dev/null can't be used (No such file or directory)" in agent.log()
        done = agent.request("POST", "/v1/commands", json={"argv": ["/skiffd", "version"]}).json()
        assert (done["exit_code"], done["cause"]) == (0, "exited"), done
        read = agent.request("POST", "/v1/commands", json={"argv": ["/skiffd", "version"], "stdin": ""}).json()
        assert read["exit_code"] == 0
        terminal = agent.request("POST", "/v1/commands", json={"argv": ["/skiffd", "version"], "tty": {}}).json()
        assert "/dev/ptmx" in terminal["error"]["message"], terminal


@as_root
def test_without_proc_it_says_so_and_so_does_each_answer_about_files(tmp_path):
    with agent_in(tmp_path, "dev") as agent:
        assert "/proc/self/fd can't be used (No such file or directory)" in agent.log()
        for path in ("/v1/files:list", "/v1/files:stat?path=x"):
            assert "/proc" in agent.request("GET", path).json()["detail"]
        assert "/proc" in agent.request("POST", "/v1/sessions", json={"root": "a"}).json()["detail"]
        assert agent.request("POST", "/v1/commands", json={"argv": ["/skiffd", "version"]}).json()["exit_code"] == 0


def starts_with(*arguments, wrapper=(), **options):
    done = subprocess.run([*wrapper, binary(), "--listen", "127.0.0.1:0", "--allow-unauthenticated", *map(str, arguments)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, **options)
    return done.returncode, done.stderr


@as_root
@pytest.mark.parametrize("flag", ["--root", "--data-dir", "--e2b-home"])
def test_a_directory_that_can_not_be_reached_is_reported_with_the_reason(tmp_path, flag):
    (tmp_path / "closed/inner").mkdir(parents=True)
    (tmp_path / "closed").chmod(0o700)
    (tmp_path / "file").write_text("")
    tmp_path.chmod(0o755)
    shutil.copy2(binary(), tmp_path / "skiffd")
    other = ["setpriv", "--reuid", "4711", "--regid", "4711", "--clear-groups"]
    more = [] if flag == "--root" else ["--root", "/"]
    for path, reason in (("closed/inner", "Permission denied"), ("nothing", "No such file or directory"),
                         ("file", "is not a directory")):
        status, said = starts_with(*more, flag, tmp_path / path, wrapper=other)
        assert status != 0 and reason in said and f'{flag} "{tmp_path / path}"' in said, said


@as_root
def test_a_spool_that_can_not_be_written_is_reported_at_the_start(tmp_path):
    tmp_path.chmod(0o755)
    status, said = starts_with("--root", "/", "--data-dir", tmp_path,
                               wrapper=["setpriv", "--reuid", "4711", "--regid", "4711", "--clear-groups"])
    assert status != 0 and f'"{tmp_path}": Permission denied' in said


@as_root
def test_a_home_that_nobody_chose_is_the_sessions_root(start_agent):
    other = ["sh", "-c", 'chown -R 4711:4711 "$PWD" && chmod 755 "$PWD" "$PWD"/.. && '
             'exec setpriv --reuid 4711 --regid 4711 --clear-groups "$@"', "sh"]
    agent = start_agent(wrapper=other, env={"HOME": "/"})
    assert agent.run("echo $HOME; echo x > ~/written")["stdout"] == f"{agent.root}\n"
    own = agent.session(root="own")
    assert agent.run("echo $HOME", session=own)["stdout"] == f"{agent.root}/own\n"
    assert agent.run("echo $HOME", env={"HOME": "/"})["stdout"] == "/\n"


@as_root
def test_a_user_without_an_entry_who_can_write_to_no_root_has_the_sessions(agent):
    for folder in (agent.root, agent.folder, agent.folder.parent):
        folder.chmod(0o755)
    assert agent.run("echo $HOME", user="4711")["stdout"] == f"{agent.root}\n"
    assert agent.run("echo $HOME", user="1")["stdout"] != f"{agent.root}\n"


@pytest.mark.parametrize("name, seen", [("xterm-of-tomorrow", "xterm-256color"), ("dumb", "dumb"), ("xterm", "xterm"),
                                        ("../../x", "xterm-256color")])
def test_a_terminal_that_nobody_here_knows_is_the_usual_one(agent, name, seen):
    assert agent.run("echo $TERM", env={"TERM": name}, tty={})["stdout"].strip() == seen
    assert agent.run("echo $TERM", env={"TERM": name})["stdout"].strip() == name


def test_a_terminal_that_the_sandbox_knows_keeps_its_name(agent):
    (agent.root / "info/x").mkdir(parents=True)
    (agent.root / "info/x/xterm-of-tomorrow").write_text("")
    env = {"TERM": "xterm-of-tomorrow", "TERMINFO": str(agent.root / "info")}
    assert agent.run("echo $TERM", env=env, tty={})["stdout"].strip() == "xterm-of-tomorrow"
