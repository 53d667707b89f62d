"""The state that a command leaves in a stateful session (docs/stateful.md) never keeps later commands from running."""

import pytest

LINES = {
    "an integer that is not a number": "x='hello world'; declare -i x",
    "an integer that is the path": "declare -i PATH",
    "an integer that can't be computed": "x='1/0'; declare -ir x",
    "integers in an array": "x=('hello world' 2); declare -i x",
    "integers in a table": "declare -A x=([a]='hello world'); declare -ix x",
    "an error of POSIX mode": "no-name(){ :; }; export POSIXLY_CORRECT=1",
    "a builtin that is not one": "builtin(){ [[ $1 == shopt && $2 != -p ]] && exit 3; command builtin \"$@\"; }",
}


@pytest.fixture
def kept(agent):
    return agent.session(shell={"path": "/bin/bash", "stateful": True})


@pytest.mark.parametrize("name", LINES)
def test_no_state_keeps_later_commands_from_running(agent, kept, name):
    agent.run(LINES[name], session=kept)
    agent.run("true", session=kept)  # may find out that the state can't be read
    assert agent.run("echo on", session=kept)["stdout"] == "on\n"


def test_nothing_in_a_value_is_computed_when_it_is_read_again(agent, kept):
    assert agent.run("x='a[$(touch computed)]'; y='z=7'; declare -i x y", session=kept)["state_saved"] == "saved"
    assert agent.run("echo $x $y $z", session=kept)["stdout"] == "a[$(touch computed)] z=7\n"
    assert not (agent.root / "computed").exists()


def test_attributes_change_no_value_that_was_there_before(agent, kept):
    agent.run("a=Up; b=Low; c=word; n=5; declare -u a; declare -lr b; declare -c c; declare -ix n", session=kept)
    result = agent.run("echo $a $b $c; n+=1; a=more; echo $n $a; declare -p b n", session=kept)
    assert result["stdout"] == 'Up Low word\n6 MORE\ndeclare -rl b="Low"\ndeclare -ix n="6"\n'
