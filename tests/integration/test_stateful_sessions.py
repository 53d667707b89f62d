"""Stateful shells among the rest: a command's own environment and directory, secrets, overlap, terminals, users."""

import os
import shutil
import signal
import sys
import threading

import pytest

import proc
from stateful import SHELLS, Shell
from waiting import until


def test_the_environment_of_one_command_is_not_kept(shell):
    shell.saves("A=plain; export B=exported")
    given = {"A": "1", "B": "2", "C": "3", "FROM": "x"}
    assert shell.says("echo $A $B $C; env | grep -c '^[ABC]=' || :; B=changed; cd /tmp", env=given) == "1 2 3\n3\n"
    assert shell.says("echo $A $B ${C-none} $PWD; env | grep -c ^A= || :") == "plain exported none /tmp\n0\n"
    assert shell.says("echo ${B-none}", env={"B": None}) == "none\n"
    assert shell.says("printenv B") == "exported\n"


def test_the_environment_of_the_first_command_is_not_kept_either(agent, shells):
    for kind, path in shells.items():
        shell = Shell(agent, kind, path, env={"A": "session"})
        assert shell.says("echo $A $B", env={"A": "own", "B": "own"}) == "own own\n"
        assert shell.says("echo $A ${B-none}") == "session none\n"
        assert shell.says("A=new; echo $A") == "new\n"
        assert shell.says("printenv A; unset A") == "new\n"
        assert shell.says("echo ${A-none}") == "none\n"


def test_secrets_are_given_each_time_and_never_kept(agent, shells):
    for kind, path in shells.items():
        shell = Shell(agent, kind, path, secret_env={"TOKEN": "s3cret"})
        assert shell.says("echo $TOKEN $OTHER", secret_env={"OTHER": "s3cond"}) == "s3cret s3cond\n"
        started = agent.start("read -r x", shell.sid, stdin_open=True)
        assert "s3c" not in until(lambda: proc.command_line(started["pid"]))
        agent.request("POST", f"/v1/sessions/{shell.sid}/commands/{started['id']}/stdin?eof=true", body=b"")
        agent.ended(started["id"], shell.sid)
        assert shell.says("echo $TOKEN ${OTHER-none}; TOKEN=changed") == "s3cret none\n"
        assert shell.says("echo $TOKEN") == "s3cret\n"
        assert "s3c" not in str(shell.show())


def test_a_command_with_its_own_cwd_leaves_the_sessions_alone(shell):
    shell.saves("mkdir -p d/e; cd d")
    here = shell.says("pwd").strip()
    assert shell.says("pwd", cwd="e") == here + "/e\n"
    assert shell.says("pwd") == here + "\n"
    assert shell.says("pwd", cwd="/tmp") == "/tmp\n"
    assert shell.says("pwd") == here + "\n"
    shell.saves("cd /", cwd="/tmp")
    assert shell.says("pwd") == "/\n"
    missing = shell.run("pwd", cwd="/no/such")
    assert (missing["cause"], missing["state_saved"]) == ("spawn_failed", "discarded")


def test_a_session_whose_root_is_gone_goes_on_elsewhere(agent, shells):
    for kind, path in shells.items():
        shell = Shell(agent, kind, path, root=f"r-{kind}")
        shell.saves(f"V=1; cd /tmp; rmdir {agent.root}/r-{kind}")
        assert shell.says("echo $V; pwd; mkdir tmp-{0}; cd tmp-{0}; rmdir ../tmp-{0}".format(shell.sid)) == "1\n/tmp\n"
        nowhere = shell.run("echo not here")
        assert (nowhere["stdout"], nowhere["exit_code"], nowhere["state_saved"]) == ("", 126, "discarded"), nowhere
        assert shell.says("echo $V; cd /", cwd="/tmp") == "1\n"
        assert shell.says("pwd") == "/\n"


def test_a_removed_working_directory_is_reported_and_blocks_no_command(shell):
    shell.saves("mkdir gone; cd gone")
    shell.saves("rmdir ../gone; V=1")
    result = shell.saves("pwd; echo $V")
    assert (result["stdout"], result["exit_code"]) == (f"{shell.agent.root}\n1\n", 0)
    assert "gone" in result["stderr"]
    assert shell.run("pwd", cwd="gone")["cause"] == "spawn_failed"
    assert shell.says("pwd") == f"{shell.agent.root}\n"


def test_a_command_without_a_shell_gets_the_variables_and_the_directory(shell):
    odd = "a'b\"c\n$d"
    shell.saves('mkdir d; cd d; export V="$ODD"; plain=1; unset FROM', env={"ODD": odd})
    result = shell.run(argv=["printenv", "V"])
    assert (result["stdout"], "state_saved" in result) == (odd + "\n", False)
    assert shell.run(argv=["pwd", "-P"])["stdout"] == f"{shell.agent.root}/d\n"
    assert "plain=" not in shell.run(argv=["env"])["stdout"]
    assert shell.run(argv=["printenv", "V"], env={"V": "own"})["stdout"] == "own\n"


def test_the_first_of_overlapping_commands_to_end_saves_its_state(shell):
    slow = {}
    fifo = shell.agent.root / "fifo"
    os.mkfifo(fifo)
    thread = threading.Thread(target=lambda: slow.update(shell.run("V=slow; cat fifo >/dev/null; cd /tmp")))
    thread.start()
    with open(fifo, "w"):  # it has started, with the state as it was
        assert shell.saves("V=quick")["exit_code"] == 0
    thread.join(30)
    assert (slow["exit_code"], slow["state_saved"]) == (0, "conflict"), slow
    assert shell.says("echo $V; pwd") == f"quick\n{shell.agent.root}\n"


def test_background_commands_see_the_state_and_never_save(shell):
    shell.saves("V=1")
    started = shell.agent.start("echo $V; V=2; cd /; (exit 5)", shell.sid)
    ended = shell.agent.ended(started["id"], shell.sid)
    assert (ended["exit_code"], ended["state_saved"]) == (5, "discarded"), ended
    assert shell.says("echo $V") == "1\n"


def test_a_background_process_holds_up_neither_the_state_nor_the_next_command(shell):
    result = shell.saves("V=1; sleep 300 >/dev/null 2>&1 & echo $!")
    assert result["exit_code"] == 0
    assert shell.says("echo $V") == "1\n"
    pid = int(result["stdout"])
    assert proc.alive(pid)
    os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("kind", SHELLS)
def test_it_works_on_a_terminal(agent, shells, kind):
    shell = Shell(agent, kind, shells[kind], env={"TERM": None})
    shell.saves("V=1; cd /tmp")
    result = shell.saves("tty >/dev/null && echo $V; pwd; stty size; V=2; echo err >&2; echo $TERM",
                         tty={"cols": 91, "rows": 17})
    assert result["stdout"].replace("\r", "") == "1\n/tmp\n17 91\nerr\nxterm-256color\n"
    assert shell.says("echo $V ${TERM-none}").split()[0] == "2"
    assert "xterm" not in shell.says("env | grep ^TERM= || :")
    shell.saves("export TERM=vt100")
    assert shell.says("echo $TERM", tty={"cols": 80, "rows": 24}) == "vt100\r\n"


def test_login_shells_take_the_state_over_after_their_profile(agent, shells, tmp_path):
    (tmp_path / ".profile").write_text(
        "FROM_PROFILE=1\nexport PATH=/profile:$PATH\nreadonly TMOUT=5\n"
        "alias cd='echo no' eval='echo no' export=false\n")
    for kind, path in shells.items():
        shell = Shell(agent, kind, path, shell={"login": True}, env={"HOME": str(tmp_path)})
        assert shell.saves("echo $FROM_PROFILE; V=1; PATH=/mine:/bin:/usr/bin; \\cd /tmp")["stdout"] == "1\n", kind
        for _ in range(2):
            assert shell.saves("echo $V $PATH; pwd")["stdout"] == "1 /mine:/bin:/usr/bin\n/tmp\n", kind


def test_timeouts_and_kills_discard(shell):
    shell.saves("V=1")
    for fields in ({"timeout_ms": 300}, {"idle_timeout_ms": 300}):
        result = shell.run("V=2; sleep 60", kill_grace_ms=100, **fields)
        assert result["state_saved"] == "discarded" and result["cause"].endswith("timeout"), result
    started = shell.agent.start("sleep 60", shell.sid)
    shell.agent.request("POST", f"/v1/sessions/{shell.sid}/commands/{started['id']}/signal", json={"signal": "KILL"})
    assert shell.agent.ended(started["id"], shell.sid)["state_saved"] == "discarded"
    assert shell.says("echo $V") == "1\n"


def test_streams_tell_it_with_their_exit(shell):
    with shell.agent.stream("POST", f"/v1/sessions/{shell.sid}/commands",
                            json={"command": "echo hi; V=1", "mode": "stream"}) as stream:
        events = list(stream.events())
    assert events[-1]["type"] == "exit" and events[-1]["state_saved"] == "saved", events
    assert shell.says("echo $V") == "1\n"


def test_a_repeated_id_runs_nothing_again(shell):
    first = shell.saves("N=${N-0}; N=$((N + 1)); echo $N", id="once")
    again = shell.run("N=${N-0}; N=$((N + 1)); echo $N", id="once")
    assert again == first
    assert shell.says("echo $N") == "1\n"


def test_a_limit_on_files_discards_a_state_and_kills_no_shell(shell):
    shell.saves("V=1")
    result = shell.run("V=2; (exit 3)", limits={"file_size_bytes": 100})
    assert (result["exit_code"], result["state_saved"]) == (3, "discarded"), result
    assert shell.says("echo $V") == "1\n"


def test_bash_keeps_300_functions_or_none_as_asked(agent, shells):
    many = "\n".join(f"f{i}() {{ local x={i}; case $x in {i}) echo \"f{i} $*\";; esac; }}" for i in range(300))
    keeps = Shell(agent, "bash", shells["bash"])
    keeps.saves(many + "\nV=1")
    assert keeps.says("f0 a; f299 b; echo $V") == "f0 a\nf299 b\n1\n"
    keeps.saves("unset -f f0")
    assert keeps.says("type f0 >/dev/null 2>&1 || f1") == "f1 \n"
    leaves = Shell(agent, "bash", shells["bash"], shell={"functions": False})
    leaves.saves(many + "\nV=1")
    assert leaves.says("type f0 >/dev/null 2>&1 || echo $V") == "1\n"
    assert leaves.show()["shell"]["functions"] is False


def test_a_function_that_bash_can_not_read_again_takes_nothing_else_with_it(agent, shells):
    shell = Shell(agent, "bash", shells["bash"])
    shell.saves("V=1; alias hi='echo hi'; function a=b { :; }; cd /tmp")
    assert shell.says("hi; echo $V; pwd") == "hi\n1\n/tmp\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may run commands as somebody else")
@pytest.mark.parametrize("kind", ("dash", "bash"))  # the others' links are in a directory that only root enters
def test_commands_of_another_user_share_the_state_but_not_the_home(agent, shells, kind):
    shell = Shell(agent, kind, shells[kind])
    shell.saves("V=1; cd /tmp")
    for command in ("id -un; echo $V $HOME $USER; V=2", "id -un; echo $V $HOME $USER; V=2 # " + "x" * 130_000):
        user, variables = shell.says(command, user="nobody").splitlines()
        assert user == "nobody" and variables.split()[0] in "12" and variables.split()[2] == "nobody"
        assert "root" not in variables
    assert shell.says("echo $V $HOME; pwd") == f"2 {agent.home}\n/tmp\n"


def test_isolation_does_not_stand_in_its_way(agent, shells):
    for level in agent.request("GET", "/v1/capabilities").json()["isolation"]:
        for kind in ("dash", "bash"):
            shell = Shell(agent, kind, shells[kind], isolation=level)
            shell.saves("V=1; mkdir -p d; cd d")
            for command in ("echo $V; pwd", "echo $V; pwd # " + "x" * 130_000):
                assert shell.says(command) == f"1\n{agent.root}/d\n", (level, kind)


def test_a_shell_that_becomes_another_one_goes_on(agent, shells, tmp_path):
    link = tmp_path / "sh"
    link.symlink_to("/bin/dash")
    shell = Shell(agent, "dash", str(link))
    shell.saves("V=1; cd /tmp")
    link.unlink()
    link.symlink_to("/bin/bash")
    assert shell.says("echo $V; pwd; W=(1 2)") == "1\n/tmp\n"
    assert shell.says("echo $V ${W[1]}") == "1 2\n"
    link.unlink()
    link.symlink_to("/bin/dash")
    shell.run("true")
    assert shell.saves("pwd")["stdout"] == "/tmp\n"


def test_sessions_say_that_they_are_stateful_and_where_they_are(shell):
    shown = shell.show()
    assert shown["shell"]["stateful"] is True and shown["shell"]["login"] is False
    assert shown["cwd"] == str(shell.agent.root)
    shell.saves("mkdir d; cd d")
    assert shell.show()["cwd"] == f"{shell.agent.root}/d"


def test_the_environment_of_a_stateful_session_is_not_patched(shell):
    path = f"/v1/sessions/{shell.sid}"
    for body in ({"env": {"A": "1"}}, {"cwd": "d"}):
        answer = shell.agent.request("PATCH", path, json=body, headers={"Content-Type": "application/merge-patch+json"})
        assert (answer.status, answer.json()["code"]) == (409, "session_is_stateful"), answer
    answer = shell.agent.request("PATCH", path, json={"labels": {"a": "b"}},
                                 headers={"Content-Type": "application/merge-patch+json"})
    assert answer.status == 200


def test_sessions_share_nothing_and_stateless_ones_keep_nothing(agent, shells):
    one, two = (Shell(agent, "dash", shells["dash"]) for _ in range(2))
    one.saves("V=1; cd /tmp")
    assert two.says("echo ${V-none}") == "none\n"
    plain = agent.run("V=1; cd /tmp; echo $V")
    assert "state_saved" not in plain
    assert agent.run("echo ${V-none}; pwd")["stdout"] == f"none\n{agent.root}\n"


def other_shell(folder, name, script):
    path = folder / name
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(0o755)
    return path


NO_SHELLS = {"zsh": shutil.which("zsh"), "fish": shutil.which("fish"), "tcsh": shutil.which("tcsh"),
             "python": sys.executable, "cat": "/bin/cat", "echo": "/bin/echo", "true": "/bin/true", "false": "/bin/false",
             "nothing": "/nonexistent/sh", "a directory": "/etc", "no program": "/etc/passwd"}


@pytest.mark.parametrize("kind", NO_SHELLS)
def test_a_shell_that_can_not_keep_its_state_is_refused_at_the_creation(agent, kind):
    if NO_SHELLS[kind] is None:
        pytest.skip(f"no {kind} here")
    for method, path in (("POST", "/v1/sessions"), ("PUT", "/v1/sessions/x")):
        problem = agent.request(method, path, json={"shell": {"path": NO_SHELLS[kind], "stateful": True}})
        assert NO_SHELLS[kind] in problem.problem(422, "shell_unsuitable")["detail"]
    agent.request("GET", "/v1/sessions/x").problem(404)
    assert [one["id"] for one in agent.request("GET", "/v1/sessions").json()["items"]] == ["default"]
    # For lines that share nothing it will do, or say by each what it lacks.
    assert agent.request("PUT", "/v1/sessions/x", json={"shell": {"path": NO_SHELLS[kind]}}).status == 201


def test_a_shell_that_forgets_or_ends_early_is_refused(agent, tmp_path):
    for name, script in (("forgets", 'exec /bin/sh -c "unset skiff_trial; $*"\n'), ("ends", "exit 0\n"), ("dies", "kill -9 $$\n"),
                         ("fails", 'echo "$@" >&2; exit 3\n')):
        agent.request("POST", "/v1/sessions", json={
            "shell": {"path": str(other_shell(tmp_path, name, script)), "stateful": True}}).problem(422, "shell_unsuitable")


def test_a_login_shell_that_takes_no_lines_is_refused(agent, tmp_path):
    path = other_shell(tmp_path, "csh-like", 'case $1 in -l) echo "Unknown option: -l" >&2; exit 1;; esac; exec /bin/sh "$@"\n')
    shell = {"path": str(path), "login": True}
    agent.request("POST", "/v1/sessions", json={"shell": shell}).problem(422, "shell_unsuitable")
    assert agent.run("echo on", session=agent.session(shell={"path": str(path)}))["stdout"] == "on\n"
    agent.request("POST", "/v1/sessions", json={"shell": {"path": "/bin/true", "login": True}}).problem(422, "shell_unsuitable")
    # It is asked again when it has become another one.
    other_shell(tmp_path, "csh-like", 'exec /bin/sh "$@"\n')
    assert agent.run("echo on", session=agent.session(shell=shell))["stdout"] == "on\n"


def test_the_trial_runs_nothing_of_the_sessions_own_and_leaves_nothing(agent, shells, tmp_path):
    (tmp_path / "env").write_text(f"echo ran >> {tmp_path}/ran\n")
    (tmp_path / ".profile").write_text(f"echo ran >> {tmp_path}/ran\n")
    env = {"ENV": str(tmp_path / "env"), "BASH_ENV": str(tmp_path / "env"), "HOME": str(tmp_path)}
    sid = agent.session(shell={"path": shells["bash"], "stateful": True, "login": True}, env=env)
    assert not (tmp_path / "ran").exists()
    assert agent.request("GET", f"/v1/sessions/{sid}/commands").json()["items"] == []
    assert agent.run("echo ${skiff_trial-none}; pwd", session=sid)["stdout"] == f"none\n{agent.root}\n"


def test_a_session_is_created_although_no_command_may_run(start_agent, shells):
    agent = start_agent("--max-commands", "1")
    agent.start("sleep 300")
    agent.session(shell={"path": shells["dash"], "stateful": True})
