"""Stateful shells: what one command leaves is there for the next, in dash, busybox ash and bash alike."""

import pytest

import proc
from stateful import Shell
from waiting import until

QUOTES = "a'b\"c\\d\n$HOME `x` \t!*é end"

# {case: (the first command, the next command, what that prints)}
KEPT = {
    "cd": ("mkdir -p d/e; cd d/e", "pwd", "{root}/d/e\n"),
    "cd -": ("mkdir -p one two; cd one; cd ../two", "(cd -)", "{root}/one\n"),
    "a directory with a newline": ("mkdir 'x\ny'; cd 'x\ny'", "pwd", "{root}/x\ny\n"),
    "export": ("export GREETING=hello", "sh -c 'echo $GREETING'", "hello\n"),
    "plain variables": ("PLAIN='two words'", 'echo "$PLAIN"; env | grep -c ^PLAIN= || :', "two words\n0\n"),
    "export with quotes and newlines": (f"export ODD='{QUOTES.replace(chr(39), chr(39) + chr(92) + chr(39) * 2)}'",
                                        'printf "%s|" "$ODD"; printenv ODD', QUOTES + "|" + QUOTES + "\n"),
    "an empty variable": ("EMPTY=", 'echo "${EMPTY-unset}"', "\n"),
    "unset": ("unset FROM_SESSION", 'echo "${FROM_SESSION-unset}"', "unset\n"),
    "unset of what the agent has": ("unset ITEST_MARK", "env | grep -c ^ITEST_MARK= || :", "0\n"),
    "no longer exported": ("v=$FROM_SESSION; unset FROM_SESSION; FROM_SESSION=$v",
                           "echo $FROM_SESSION; env | grep -c ^FROM_SESSION= || :", "here\n0\n"),
    "umask": ("umask 027", "umask", "0027\n"),
    "alias": ("alias hi='echo hi there'", "hi", "hi there\n"),
    "alias with quotes": ("""alias it='echo "it'"'"'s"'""", "it", "it's\n"),
    "readonly": ("readonly FIXED=1", "echo $FIXED", "1\n"),
    "the status of a failed command": ("KEEP=1; (exit 4)", "echo $KEEP", "1\n"),
    "its own descriptor 9": ("exec 9>nine; echo hi >&9; X=9", "cat nine; echo $X", "hi\n9\n"),
    "exec of a redirection": ("exec >file; echo hidden; X=1", "cat file; echo $X", "hidden\n1\n"),
    "hostile aliases and a function": (
        "alias export='echo no' set='echo no' command='echo no' eval='echo no' exit='echo no' unalias='echo no';"
        "umask() { echo no; }; cd /tmp; V=1", "pwd; echo $V", "/tmp\n1\n"),
    "an empty IFS": ("IFS=; V='a b'", 'printf "%s|" $V; echo', {"dash": "a|b|\n", "ash": "a|b|\n", None: "a b|\n"}),
    "positional parameters are not": ("set -- a b c", 'echo "$#"', "0\n"),
    "options are not": ("set -f; set -a; set -u; V=1", 'echo "$V $-"', None),
    "traps are not": ("trap 'echo bye' EXIT TERM", "trap; echo none", "none\n"),
    "a heredoc": ("V=$(cat <<'E'\nline $x\nE\n)", 'echo "$V"', "line $x\n"),
    "an open heredoc": ("cat <<E\nopen", "echo fine", "fine\n"),
    "nothing at all": ("", "echo fine", "fine\n"),
    "a comment at its end": ("V=1 # why", "echo $V", "1\n"),
}


@pytest.mark.parametrize("case", KEPT)
def test_the_next_command_has_the_state_that_a_command_leaves(agent, shells, case):
    before, ask, answer = KEPT[case]
    for kind, path in shells.items():
        root = f"r-{kind}"
        shell = Shell(agent, kind, path, root=root, env={"FROM_SESSION": "here"})
        shell.saves(before)
        given = shell.says(ask)
        if answer is None:
            assert given.startswith("1 ") and not set("fau") & set(given), (kind, given)
            continue
        wanted = answer if isinstance(answer, str) else answer.get(kind, answer[None])
        assert given == wanted.replace("{root}", f"{agent.root}/{root}"), kind
        assert shell.says(ask) == given, kind  # and it is still there


# State that bash keeps beyond that.
KEPT_BY_BASH = {
    "a function with a heredoc": ("f() { cat <<X\nhi $1\nX\n}", "f there", "hi there\n"),
    "a function with an extglob pattern": (
        "shopt -s extglob\ng() { case $1 in +(a|b)) echo ab;; *) echo other;; esac; }\nshopt -u extglob",
        "(shopt -s extglob; g abba; g xyz); shopt -q extglob || echo off", "ab\nother\noff\n"),
    "an exported function": ("h() { echo exported; }; export -f h", "bash -c h", "exported\n"),
    "a removed function": ("f() { :; }; unset -f f", "type f >/dev/null 2>&1 || echo none", "none\n"),
    "arrays": ("a=(one 'two words' \"q'q\"); declare -A m=([k y]='v $x' [b]=2)",
               'printf "%s|" "${a[@]}" "${m[k y]}" "${#m[@]}"', "one|two words|q'q|v $x|2|"),
    "attributes": ("declare -i n=1; declare -u up=x; declare -r fixed=1", "(n=n+1; up=abc; echo $n $up $fixed)",
                   "2 ABC 1\n"),
    "shopt": ("shopt -s nullglob; shopt -u sourcepath", "echo no-such-*; shopt -q sourcepath || echo off", "\noff\n"),
    "an alias without expand_aliases": ("alias hi='echo hi'; shopt -u expand_aliases", "hi 2>/dev/null || echo none",
                                        "none\n"),
    "a nameref": ("target=1; declare -n ref=target", "ref=2; echo $target", "2\n"),
    "no printable text": ("bytes=$'\\001\\377\\n'", "printf %s \"$bytes\" | od -An -tx1", " 01 ff 0a\n"),
    "a function named as a builtin": ("echo() { printf 'mine %s\\n' \"$*\"; }", "echo x", "mine x\n"),
    "functions named cd and pwd": ("cd() { builtin cd /; }; pwd() { printf 'mine\\n'; }", "cd; builtin pwd", "/\n"),
    "a function like the rest": ("exec() { :; }; shift() { :; }; declare() { :; }; V=1", "echo $V", "1\n"),
}


@pytest.mark.parametrize("case", KEPT_BY_BASH)
def test_bash_keeps_functions_arrays_and_options(agent, shells, case):
    before, ask, answer = KEPT_BY_BASH[case]
    # POSIX mode forbids functions with the names of special builtins.
    for kind in ("bash",) if case == "a function like the rest" else ("bash", "sh"):
        shell = Shell(agent, kind, shells[kind])
        shell.saves(before)
        assert shell.says(ask) == answer, kind
        assert shell.says(ask) == answer, kind


# How a command may end: its exit status in dash, busybox and bash, and whether its state is kept.
SAVED, LOST = "saved", "discarded"
ENDS = {
    "exit": ("V=2; exit 3", 3, LOST),
    "the exit of a subshell": ("V=2; (exit 4)", 4, SAVED),
    "errexit": ("V=2; set -e; false; echo not here", 1, LOST),
    "nounset": ("V=2; set -u; echo $nope; echo not here", {"dash": 2, "ash": 2, "bash": 127, "sh": 127}, LOST),
    "exec": ("V=2; exec true", 0, LOST),
    "a failing exec": ("V=2; exec /no/such/program", 127, LOST),
    "not found": ("V=2; no-such-program", 127, SAVED),
    "an unbalanced quote": ("V=2; echo 'open", {"dash": 2, "ash": 2, None: None}, None),
    "a syntax error": ("V=2; if; then", {"dash": 2, "ash": 2, None: None}, None),
    "an open brace": ("V=2; { echo", {"dash": 2, "ash": 2, None: None}, None),
    "an EXIT trap": ("V=2; trap 'echo bye' EXIT; (exit 6)", 6, SAVED),
    "an EXIT trap that exits": ("V=2; trap 'exit 5' EXIT; true", 5, SAVED),
    "a TERM trap": ("V=2; trap 'exit 7' TERM; kill -TERM $$; echo not here", 7, LOST),
    "a TERM trap that goes on": ("V=2; trap 'V=3' TERM; kill -TERM $$; V=2; (exit 8)", 8, SAVED),
    "a background process": ("V=2; sleep 0.3 & echo", 0, SAVED),
}


@pytest.mark.parametrize("case", ENDS)
def test_the_status_is_the_commands_and_the_state_is_kept_only_at_the_shells_end(agent, shells, case):
    command, status, kept = ENDS[case]
    for kind, path in shells.items():
        shell = Shell(agent, kind, path)
        shell.saves("V=1")
        result = shell.run(command)
        wanted = status.get(kind, status.get(None)) if isinstance(status, dict) else status
        assert result["cause"] == "exited", (kind, result)
        assert wanted is None and result["exit_code"] != 0 or result["exit_code"] == wanted, (kind, result)
        assert "not here" not in result["stdout"], (kind, result)
        if kept is None:  # a syntax error runs nothing of its line: what it was stays, whatever the shell calls that
            assert shell.says("echo $V") == "1\n", kind
            continue
        assert result["state_saved"] == kept, (kind, result)
        assert shell.says("echo $V") == ("2\n" if kept == SAVED else "1\n"), kind


@pytest.mark.parametrize("how", ("kill -9 $$", "kill -TERM $$", "kill -9 0", "kill -9 -$$"))
def test_a_shell_that_is_killed_leaves_the_state_as_it_was(shell, how):
    shell.saves("V=1; cd /tmp")
    result = shell.run(f"V=2; cd /; {how}; sleep 60")
    assert (result["cause"], result["state_saved"]) == ("signaled", "discarded"), result
    assert result["exit_code"] is None
    assert shell.says("echo $V; pwd") == "1\n/tmp\n"


def test_traps_of_the_user_run_with_the_users_descriptors(shell):
    result = shell.saves("trap 'echo out; echo err >&2' EXIT; f() { return 3; }; f")
    assert (result["stdout"], result["stderr"], result["exit_code"]) == ("out\n", "err\n", 3)


def test_return_and_a_broken_readonly_wedge_nothing(shell):
    shell.saves("V=1")
    shell.run("V=1; return 3")
    shell.run("readonly FIXED=1; FIXED=2; echo after")
    shell.run("readonly V; readonly PATH HOME")
    for _ in range(2):
        assert shell.says("echo $V") == "1\n"


def test_stdout_and_stderr_are_apart_and_hold_only_what_the_command_says(shell):
    result = shell.saves("echo out; echo err >&2; set -x; : traced")
    assert result["stdout"] == "out\n"
    assert result["stderr"].startswith("err\n") and result["stderr"].count("traced") == 1, result
    assert len(result["stderr"].splitlines()) == 2, result


def test_stdin_belongs_to_the_command(shell):
    assert shell.says("read -r a; cat; echo $a", stdin="first\nrest\n") == "rest\nfirst\n"
    assert shell.says("echo $a") == "first\n"


def test_it_is_a_process_of_its_own_each_time(shell):
    seen = shell.saves("echo $$ $PPID $#; echo $0")
    pid, parent, count = seen["stdout"].split()[:3]
    assert (int(parent), count) == (shell.agent.pid, "0")
    shown = shell.agent.request("GET", f"/v1/sessions/{shell.sid}/commands/{seen['id']}").json()
    assert int(pid) == shown["pid"]
    assert seen["stdout"].splitlines()[1] == shell.show()["shell"]["path"]


def test_children_see_no_descriptor_and_no_variable_of_it(shell):
    shell.saves("V=1")
    for long in ("", " #" + "x" * 130_000):
        assert shell.says("ls /proc/self/fd" + long).split() == ["0", "1", "2", "3"]  # 3 is the directory that ls reads
        assert "__skiff" not in shell.says("env; set | grep -v EXECUTION_STRING | grep -v ^_= || :" + long)


def test_ps_shows_the_command_and_not_the_script(shell):
    shell.saves("V=1")
    started = shell.agent.start("echo ready; read -r x", shell.sid, stdin_open=True)
    # Empty while the program is still being loaded.
    until(lambda: "echo ready; read -r x" in proc.command_line(started["pid"]))
    assert len(proc.command_line(started["pid"])) < 200
    shell.agent.request("POST", f"/v1/sessions/{shell.sid}/commands/{started['id']}/stdin?eof=true", body=b"")
    shell.agent.ended(started["id"], shell.sid)


def test_errors_name_the_line_of_the_command(shell):
    for _ in range(2):  # without and with a state to take over
        result = shell.saves("\n\nno-such-program\n")
        assert "3" in result["stderr"] or shell.kind == "ash" and "2" in result["stderr"], result


def test_a_command_may_be_300_kb_long(shell):
    shell.saves("V=1")
    text = "x" * 300_000
    assert shell.says(f"LONG='{text}'; echo ${{#LONG}} $V") == "300000 1\n"
    assert shell.says("echo ${#LONG}") == "300000\n"


def test_a_state_that_is_too_large_is_discarded(shell):
    shell.saves("V=1")
    result = shell.run("V=2; big=$(head -c 5000000 /dev/zero | tr '\\0' x); (exit 9)")
    assert (result["exit_code"], result["state_saved"]) == (9, "discarded"), result
    assert shell.says("echo $V ${#big}") == "1 0\n"


def test_a_large_state_is_kept(shell):
    shell.says("big=$(head -c 1000000 /dev/zero | tr '\\0' x)")
    assert shell.says("echo ${#big}; unset big") == "1000000\n"


def test_a_variable_too_large_to_export_does_not_wedge_the_session(shell):
    shell.saves("export BIG=$(head -c 200000 /dev/zero | tr '\\0' x)")
    assert shell.run("ls")["exit_code"] == 126 or shell.kind in ("dash", "ash")
    shell.saves("unset BIG")
    assert shell.says("ls / >/dev/null; echo fine") == "fine\n"
