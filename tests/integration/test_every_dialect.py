"""Every dialect, and the agent's own API beside them, runs commands and ends them, and reads and writes files of any name; all of
it is the agent's. dialect_doors.py says what a dialect can not do."""

import json
import os
import re
import shlex
import signal
import socket
import threading

import pytest

from dialect_doors import ABILITIES, DOORS, HTTP, Refused, at, doors  # noqa: F401
from waiting import is_same_moment, until

MIB = 1 << 20
DIALECTS = [door for door in DOORS if door.name]


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_a_door_can_do_each_thing_or_says_why_not(door):
    assert {ability for ability in ABILITIES if not getattr(door, ability)} == set(door.lacks) and all(door.lacks.values())


# --- commands ---


WORDS = ["it's", 'dou"ble', "new\nline", "tab\there", "$HOME `x` $(x)", "*?[a]", "back\\slash", "caf\u00e9", "\u65e5\u672c\U0001f600",
         "e\u0301", "-n", " blanks ", "%s%%", "a;b|c&d>e<f", "#x", "!x", "~", "\x01\x7f", "\u2028</script>\\u0041"]


@doors("command")
def test_a_command_gets_its_words_as_they_are(at):
    assert at.run("printf '%s\\0' " + " ".join(map(shlex.quote, WORDS)) + " | tr '\\0' '\\001'; exit 3") == (
        "".join(word + "\1" for word in WORDS).encode(), 3)


@doors("command")
def test_a_command_reads_nothing_and_works_in_the_root(at):
    assert at.run("cat; pwd -P") == (os.path.realpath(at.files).encode() + b"\n", 0)


@doors("command")
def test_output_arrives_whole(at):
    assert at.run("seq 100000") == (b"".join(b"%d\n" % i for i in range(1, 100_001)), 0)


@doors("command")
def test_commands_run_side_by_side(at):
    said = []
    threads = [threading.Thread(target=lambda n=n: said.append(at.run(f"echo {n}")[0])) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said) == sorted(b"%d\n" % n for n in range(16))


@doors("command")
def test_a_background_process_holds_no_answer_up(at):
    assert at.run("sleep 300 & echo started") == (b"started\n", 0)


@doors("command", "hold")
def test_a_command_that_runs_holds_nobody_up(at):
    with at.hold("touch up; sleep 300"):
        until((at.files / "up").exists)
        assert at.is_well() and at.run("echo quick") == (b"quick\n", 0)


@doors("command", "hold", settings=("--max-commands", "2"))
def test_more_commands_than_allowed_are_refused_until_one_ends(at):
    with at.hold("touch up1; sleep 300"), at.hold("touch up2; sleep 300"):
        until(lambda: (at.files / "up1").exists() and (at.files / "up2").exists())
        with pytest.raises(Refused) as told:
            at.run("true")
        assert told.value.code == at.busy
    until(lambda: runs(at), what="room for a command")


@doors("command", "says_when", settings=("--max-commands", "1"))
def test_a_client_that_comes_too_soon_is_told_when_to_come_again(at):
    with at.hold("touch up; sleep 300"):
        until((at.files / "up").exists)
        answer = at.send(at.command("true"))
        assert answer.status == 429 and "--max-commands" in at.sentence(answer) and answer.headers["Retry-After"] == "1"


def runs(at):
    try:
        return at.run("true") == (b"", 0)
    except Refused:
        return False


# Its children are in the command's own group, out of it, and out of its tree.
TREE = "sleep 300 & (setsid sleep 300 &) ; (setsid sh -c 'sleep 300 & sleep 300' &) ; touch up; sleep 300"


def up(at):
    """The whole tree runs."""
    return (at.files / "up").exists() and len([line for line in at.agent.strays().values() if line == "sleep 300"]) == 5


@doors("killable")
def test_a_kill_ends_the_whole_tree(at):
    with at.killable(TREE) as kill:
        until(lambda: up(at), what=f"five processes, not {at.agent.strays()}")
        kill()
        until(lambda: not at.agent.strays(), what=f"the end of {at.agent.strays()}")


@doors("hold")
@pytest.mark.parametrize("way", ["close", "half", "reset"])
def test_the_whole_tree_ends_with_its_client(at, way):
    with at.hold(TREE) as sock:
        until(lambda: up(at), what="five processes")
        if way == "half":
            sock.shutdown(socket.SHUT_WR)
            until(lambda: not at.agent.strays(), what="the end of the tree")
        elif way == "reset":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    until(lambda: not at.agent.strays(), what="the end of the tree")


@doors("hold")
def test_the_whole_tree_ends_with_its_time(at):
    for limit in (0.5, 3, 15):
        with at.hold(TREE, limit):
            seen = until(lambda: (at.files / "up").exists() or not at.agent.strays())
            until(lambda: not at.agent.strays(), 30, what="the end of the tree")
        if seen:
            return
    raise AssertionError("no tree came up")


@doors()
def test_a_door_that_drains_takes_no_work_and_says_so(at):
    held = at.agent.start("trap 'until [ -e go ]; do sleep 0.1; done; exit 0' TERM; touch up; while :; do sleep 0.1; done",
                          kill_grace_ms=60_000)
    until((at.agent.root / "up").exists)
    at.agent.process.send_signal(signal.SIGTERM)
    until(lambda: at.agent.request("GET", "/readyz").status == 503)
    if at.command:
        with pytest.raises(Refused) as told:
            at.run("touch made")
        assert told.value.code == at.draining
    for ask in at.changes():
        answer = at.send(ask)
        assert answer.status == 503 and answer.headers["Retry-After"] and at.sentence(answer), ask.path
    assert not (at.files / "made").exists()
    (at.agent.root / "go").touch()
    assert held and at.agent.process.wait(30) == 143


# --- files ---


NAMES = ["with space", "a%41", "a+b&c=d?e#f", "50%", "quo'te", 'dou"ble', "back\\slash", "ends\\", "semi;colon", "comma,", "[glob]*",
         "$HOME `x`", "-rf", "...", ".dot", "caf\u00e9", "\u65e5\u672c\u8a9e", "\U0001f600", "e\u0301 combining", " blanks ", "a:b|c<d>",
         "%2F", "%2e%2e", "x" * 255, "deep/er/and deeper/still", "new\nline"]


def names(at):
    return NAMES[:-1] if at.name == "python-runtime" else NAMES  # a head of its forms is a line


@doors("write", "read")
def test_odd_names_are_names(at):
    for name in names(at):
        at.put(name, name.encode() * 3)
        assert (at.files / name).read_bytes() == at.content(name) == name.encode() * 3, name
    assert {str(path.relative_to(at.files)) for path in at.files.rglob("*") if path.is_file()} == set(names(at))


@doors("write", "remove")
def test_odd_names_are_removed(at):
    for name in names(at):
        at.put(name, b"x")
        assert at.send(at.remove(name)).status in (200, 204), name
        assert not (at.files / name).exists() and at.send(at.read(name)).status == 404, name


@doors("write", "read")
def test_an_empty_file_is_a_file_and_another_one_takes_its_place_whole(at):
    at.put("f", b"")
    answer = at.send(at.read("f"))
    assert (answer.status, answer.body, answer.headers["Content-Length"]) == (200, b"", "0")
    at.put("f", b"longer")
    at.put("f", b"new")
    assert at.content("f") == b"new"


@doors("streams_files")
def test_a_large_file_goes_both_ways_in_little_memory(at):
    data = os.urandom(64 * MIB)
    at.put("large", data)
    assert (at.files / "large").read_bytes() == data and at.content("large") == data
    with open(f"/proc/{at.agent.pid}/status") as file:
        peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    assert peak < 64 * 1024 or os.environ.get("SKIFFD_SANITIZER"), f"{peak} KiB"


@doors("write")
@pytest.mark.parametrize("way", ["close", "half"])
def test_an_upload_that_breaks_off_leaves_the_old_file(at, way):
    at.put("f", b"old")
    whole = at.bytes(at.write("f", b"n" * MIB))
    with at.connect() as sock:
        sock.sendall(whole[:MIB // 2])
        assert at.content("f") == b"old"
        if way == "half":
            sock.shutdown(socket.SHUT_WR)
            while sock.recv(65536):
                pass
    until(lambda: os.listdir(at.files) == ["f"], what="nothing but the file")
    assert at.content("f") == b"old"


# --- part of the agent ---


@doors(of=DIALECTS)
def test_the_agent_says_what_it_speaks_and_to_whom(at):
    assert at.agent.request("GET", "/v1/capabilities").json()["dialects"] == ["mcp", at.name]
    pattern = rf"everyone who can connect to 127\.0\.0\.1:\d+ may run commands \(--dialect {at.name}\)"
    assert len(re.findall(pattern, at.agent.log())) == at.doors


@doors("command", of=DIALECTS)
def test_a_command_is_one_of_the_agents(at):
    at.run("echo seen")
    items = at.agent.request("GET", f"/v1/sessions/{at.session}/commands").json()["items"]
    seen, = [one for one in items if "echo seen" in json.dumps(one)]
    assert seen["state"] == "ended" and seen["exit_code"] == 0


@pytest.mark.parametrize("door", DIALECTS, ids=lambda door: door.__name__)
def test_the_logs_and_the_metrics_tell_of_requests_and_not_of_probes(start_agent, tmp_path, door):
    at = door(start_agent(*door.options(), "--audit-log", tmp_path / "audit"))
    who = f"dialect:{at.name}"

    def told(text):
        lines = [json.loads(line) for line in text.splitlines() if line.startswith("{") and line.endswith("}")]
        return [line for line in lines if line.get("who") == who]

    def audited(event):
        return [one for one in told((tmp_path / "audit").read_text()) if one["event"] == event]

    assert at.is_well()
    at.use()
    if at.command:
        at.run("echo x")
    command = until(lambda: audited("command"))[0] if at.command else None
    request = until(lambda: [one for one in audited("request") if not command or "command" in one], what="its line in the audit log")[-1]
    if command:
        assert request["command"] == command["command"] and request["session"] == command["session"] == at.session
    until(lambda: request["route"] in [one["route"] for one in told(at.agent.log())], what="its line in the log")
    assert at.probe not in [one["route"] for one in told(at.agent.log())] and "missing" not in at.agent.log()
    assert f'skiff_requests_total{{route="{who}",method="-",status="2xx"}}' in at.agent.request("GET", "/metrics").text


@doors()
def test_probes_do_not_count_as_activity(at):
    def last():
        return at.agent.request("GET", "/v1/activity").json()["last_used_at"]

    before = last()
    for _ in range(3):
        assert at.is_well()
    assert is_same_moment(last(), before)
    at.use()
    assert last() > before


@pytest.mark.parametrize("door", [door for door in HTTP if door.name], ids=lambda door: door.__name__)
def test_a_unix_socket_is_a_door_as_well(start_agent, tmp_path, door):
    addresses = [f"unix:{tmp_path}/{i}.sock" for i in range(door.doors)]
    agent = start_agent("--dialect", f"{door.name}={','.join(addresses)}")
    assert re.fullmatch(rf"skiffd speaks {door.name} \((HTTP|REST)\) on {addresses[0]}", agent.next_line())
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(f"{tmp_path}/0.sock")
        sock.sendall(f"GET {door.probe} HTTP/1.1\r\nHost: any.example\r\n\r\n".encode())
        assert re.match(rb"HTTP/1.1 20[04] ", sock.recv(1000))
