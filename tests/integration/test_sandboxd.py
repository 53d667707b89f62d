"""The processes of the dialect sandboxd, frame by frame: each method, streams with their windows, cancellation, deadlines,
terminals, reflection, health."""

import os
import signal
import struct

import pytest

from grpc_client import Call, Client, config, executed, exit_code, field, fields, output
from sandboxd import client, doors, rest, start_doors  # noqa: F401
from waiting import until

OK, CANCELLED, INVALID, DEADLINE, NOT_FOUND, DENIED, EXHAUSTED, PRECONDITION, UNIMPLEMENTED = 0, 1, 3, 4, 5, 7, 8, 9, 12
MIB = 1024 * 1024


def live(doors):
    agent = doors[0].agent
    return [one for one in agent.request("GET", "/v1/commands").json()["items"] if one["state"] != "ended"]


def test_execute_answers_code_and_both_streams(client):
    call = client.unary("Execute", config("sh", "-c", "echo out; echo err >&2; exit 3"))
    assert executed(call) == (3, b"out\n", b"err\n")
    assert call.headers["content-type"] == "application/grpc" and call.headers["grpc-accept-encoding"] == "identity"
    assert executed(client.unary("Execute", config("true"))) == (0, b"", b"")
    assert executed(client.unary("Execute", config("sh", "-c", "kill -9 $$")))[0] == -1
    assert executed(client.unary("Execute", config("cat"))) == (0, b"", b"")  # stdin is at its end


def test_execute_takes_variables_and_a_directory(client, doors):
    root = os.path.realpath(doors[0].agent.root)
    (doors[0].agent.root / "sub").mkdir()
    line = config("sh", "-c", "echo $SANDBOX_X; pwd", env={"SANDBOX_X": "a=b c"}, cwd="sub")
    assert executed(client.unary("Execute", line))[1] == f"a=b c\n{root}/sub\n".encode()
    for cwd in ("/sub", f"{root}/sub", "sub/../sub/.", "/../sub"):
        assert executed(client.unary("Execute", config("pwd", cwd=cwd)))[1] == f"{root}/sub\n".encode(), cwd
    # A PATH of the command's own hides none of the agent's programs from it.
    assert executed(client.unary("Execute", config("sh", "-c", "echo $PATH", env={"PATH": "/nowhere"})))[1] == b"/nowhere\n"
    for cwd in ("", ".", "/", root):
        assert executed(client.unary("Execute", config("pwd", cwd=cwd)))[1] == f"{root}\n".encode(), cwd


WRONG = {
    "no config": (b"", INVALID, "command is required"),
    "no command": (config(), INVALID, "command is required"),
    "an empty word": (config(""), INVALID, "argv must name a program"),
    "a NUL byte": (config("echo", "a\0b"), INVALID, "argv holds a NUL byte"),
    "a variable without a name": (config("true", env={"": "x"}), INVALID, "env_vars"),
    "a variable with =": (config("true", env={"A=B": "x"}), INVALID, "env_vars"),
    "a directory outside": (config("true", cwd="../.."), DENIED, "cwd: "),
    "a directory by a link": (config("true", cwd="out"), DENIED, "cwd: "),
    "a missing directory": (config("true", cwd="nope"), NOT_FOUND, "cwd: "),
    "a missing program": (config("/no/such/program"), NOT_FOUND, "failed to start command: "),
    "no program": (config("/etc/passwd"), DENIED, "failed to start command: "),
    "a name too long": (config("a" * 300), NOT_FOUND, "failed to start command: "),
    "a link to itself": (config("./loop"), NOT_FOUND, "failed to start command: "),
    "not protobuf": (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", INVALID, "the message is not what"),
    "cut": (b"\x0a\x20ab", INVALID, "the message is not what"),
}


@pytest.mark.parametrize("method", ["Start", "Execute"])
@pytest.mark.parametrize("what", WRONG)
def test_bad_requests_say_why_and_start_nothing(client, doors, method, what):
    message, status, sentence = WRONG[what]
    os.symlink("/", doors[0].agent.root / "out")
    os.symlink("loop", doors[0].agent.root / "loop")
    call = client.unary(method, message)
    assert (call.status, call.messages()) == (status, []) and call.message.startswith(sentence), call.message
    assert not live(doors)


def test_start_streams_events(client):
    call, number = client.start("sh", "-c", "echo out; echo err >&2; exit 7")
    client.finish(call)
    assert number == 1
    assert (output(call, 2), output(call, 3), exit_code(call), call.status) == (b"out\n", b"err\n", 7, OK)
    call, number = client.start("true")
    client.finish(call)
    assert number == 2 and len(call.messages()) == 2 and exit_code(call) == 0


def test_input_arrives_whole_and_ends(client):
    call, number = client.start("cat")
    data = bytes(range(256)) * (20 * MIB // 256)
    assert client.unary("WriteStdin", field(1, number) + field(2, data)).status == OK
    assert client.unary("WriteStdin", field(1, number) + field(2, b"")).status == OK
    assert client.unary("WriteStdin", field(1, number) + field(3, b"")).status == OK
    client.finish(call)
    assert output(call) == data and exit_code(call) == 0
    late = client.unary("WriteStdin", field(1, number) + field(2, b"x"))
    assert (late.status, late.message) == (NOT_FOUND, f"process {number} not found")


def test_input_that_is_closed_is_refused(client):
    call, number = client.start("sleep", "100")
    for _ in range(2):
        assert client.unary("WriteStdin", field(1, number) + field(3, b"")).status == OK
    assert client.unary("WriteStdin", field(1, number) + field(2, b"x")).status == PRECONDITION
    client.cancel(call)


def test_a_message_of_20_mb_comes_and_goes(client):
    call = client.unary("Execute", config("head", "-c", "20000000", "/dev/zero"))
    code, out, err = executed(call)
    assert (code, len(out), err) == (0, 20_000_000, b"")
    large = client.unary("Execute", config("true", "x" * (5 * MIB)))
    assert large.status == EXHAUSTED


def test_signals(client):
    call, number = client.start("sh", "-c", "trap 'echo got; exit 5' INT; echo ready; while :; do sleep 0.05; done")
    client.until(lambda: output(call) == b"ready\n")
    for wrong in (0, 1, 3, 64, 1000):
        assert client.unary("SendSignal", field(1, number) + field(2, wrong)).status == INVALID
    assert client.unary("SendSignal", field(1, number) + field(2, signal.SIGINT)).status == OK
    client.finish(call)
    assert output(call) == b"ready\ngot\n" and exit_code(call) == 5
    for name in (signal.SIGTERM, signal.SIGKILL):
        call, number = client.start("sleep", "100")
        assert client.unary("SendSignal", field(1, number) + field(2, name)).status == OK
        client.finish(call)
        assert exit_code(call) == -1
    assert client.unary("SendSignal", field(1, 424242) + field(2, 15)).status == NOT_FOUND
    assert client.unary("SendSignal", field(1, -1) + field(2, 15)).status == NOT_FOUND


def test_terminals(client):
    call, number = client.start("sh", "-c", "stty size; read x; stty size; echo e >&2", pty=field(1, 80) + field(2, 24))
    client.until(lambda: b"24 80" in output(call))
    # A field of 0 is one that was not said (proto3): that side stays.
    for cols, rows in ((120, 0), (0, 40)):
        assert client.unary("ResizeTTY", field(1, number) + field(2, cols) + field(3, rows)).status == OK
    for cols, rows in ((0, 0), (65536, 24), (80, 1 << 31)):
        wrong = client.unary("ResizeTTY", field(1, number) + field(2, cols) + field(3, rows))
        assert wrong.status == INVALID, (cols, rows)
    client.unary("WriteStdin", field(1, number) + field(2, b"\n"))
    client.finish(call)
    assert b"40 120" in output(call) and b"e\r\n" in output(call) and output(call, 3) == b""
    call, number = client.start("cat", pty=b"")
    assert client.unary("WriteStdin", field(1, number) + field(3, b"")).status == OK  # typed, as Ctrl-D
    client.finish(call)
    assert exit_code(call) == 0
    call, number = client.start("sleep", "100")
    assert client.unary("ResizeTTY", field(1, number) + field(2, 80) + field(3, 24)).status == PRECONDITION
    client.cancel(call)


def test_a_cancelled_call_ends_the_tree(client, doors):
    tree = "sleep 1000 & (setsid sleep 1000 &) ; echo up; wait"
    start, _ = client.start("sh", "-c", tree)
    execute = client.begin("Execute", config("sh", "-c", tree))
    until(lambda: len(live(doors)) == 2, what="two commands")
    client.cancel(start)
    client.cancel(execute)
    until(lambda: not live(doors), what="the end of both")
    assert executed(client.unary("Execute", config("echo", "on")))[1] == b"on\n"  # the connection goes on


def test_a_connection_that_goes_ends_its_commands(doors):
    with Client(doors[1]) as client:
        client.start("sleep", "1000")
        client.begin("Execute", config("sleep", "1000"))
        until(lambda: len(live(doors)) == 2, what="two commands")
    until(lambda: not live(doors), what="the end of both")


def test_deadlines_end_commands(client, doors):
    for method in ("Start", "Execute"):
        call = client.unary(method, config("sleep", "1000"), headers=[("grpc-timeout", "200m")])
        assert (call.status, call.message) == (DEADLINE, "the call's time is over")
    until(lambda: not live(doors), what="the end of both")
    for none in ("0S", "0m", "0n"):
        late = client.unary("Execute", config("touch", "begun"), headers=[("grpc-timeout", none)])
        assert (late.status, (doors[0].agent.root / "begun").exists()) == (DEADLINE, False), none
    for wrong in ("", "1", "S", "-1S", "123456789S", "1x", "1 S", "1.5S"):
        call = client.unary("Execute", config("true"), headers=[("grpc-timeout", wrong)])
        assert call.status == INVALID, wrong
    for right in ("10S", "1H", "99999999H", "99999999M", "99999999u"):
        assert executed(client.unary("Execute", config("true"), headers=[("grpc-timeout", right)]))[0] == 0
    # A tenth of a second is the longest time in this unit: a busy machine may not start a process in it.
    assert client.unary("Execute", config("true"), headers=[("grpc-timeout", "99999999n")]).status in (0, DEADLINE)


def test_a_grandchild_that_holds_the_pipe_holds_up_no_stream(client):
    call, _ = client.start("sh", "-c", "sleep 1000 & echo out")
    client.finish(call)
    assert output(call) == b"out\n" and exit_code(call) == 0


def test_a_client_that_pauses_loses_nothing(doors):
    """The window of a stream is shut while its command writes much more than the agent keeps; others go on."""
    with Client(doors[1], reads=False) as client:
        call, _ = client.start("seq", "1", "2000000")
        client.until(lambda: len(call.data) == 65535)
        with Client(doors[1]) as other:
            assert executed(other.unary("Execute", config("echo", "here")))[1] == b"here\n"
        assert not call.over
        client.reads = True
        client.h2.acknowledge_received_data(len(call.data), call.stream)
        client.flush()
        client.finish(call)
        assert output(call) == b"".join(b"%d\n" % i for i in range(1, 2000001)) and exit_code(call) == 0


def test_a_hundred_streams_at_once(client, doors):
    calls = [client.start("cat") for _ in range(100)]
    assert len({number for _, number in calls}) == 100 == len(live(doors))
    for _, number in calls:
        assert client.unary("WriteStdin", field(1, number) + field(2, str(number))).status == OK
        assert client.unary("WriteStdin", field(1, number) + field(3, b"")).status == OK
    for call, number in calls:
        client.finish(call)
        assert output(call) == str(number).encode() and exit_code(call) == 0


def test_requests_that_are_not_grpc_calls_are_refused(client):
    call = client.unary("Nope")
    assert (call.status, call.message) == (UNIMPLEMENTED, "method /process.v1.ProcessService/Nope is not known here")
    for headers, status in (([(":method", "GET")], "405"), ([(":method", "POST"), ("content-type", "text/plain")], "415")):
        stream = client.h2.get_next_available_stream_id()
        client.calls[stream] = answer = Call()
        client.h2.send_headers(stream, [headers[0], (":scheme", "http"), (":path", "/"), (":authority", "x"), *headers[1:]],
                               end_stream=True)
        client.flush()
        client.finish(answer)
        assert answer.headers[":status"] == status


def test_broken_messages(client):
    packed = client.begin("Execute")
    client.send(packed, struct.pack(">BI", 1, 4) + b"abcd", end=True)
    assert client.finish(packed).status == UNIMPLEMENTED
    huge = client.begin("Execute")
    client.send(huge, struct.pack(">BI", 0, 0xFFFFFFFF))
    assert client.finish(huge).status == EXHAUSTED
    cut = client.begin("Execute")
    client.send(cut, struct.pack(">BI", 0, 100) + b"abc", end=True)
    assert client.finish(cut).status == INVALID
    empty = client.begin("Execute")
    client.send(empty, b"", end=True)
    assert client.finish(empty).status == INVALID
    assert executed(client.unary("Execute", config("true")))[0] == 0


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
def test_reflection(client, version):
    call = client.begin(f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo")

    def ask(message):
        before = len(call.messages())
        client.send(call, struct.pack(">BI", 0, len(message)) + message)
        client.until(lambda: len(call.messages()) > before)
        return dict(fields(call.messages()[-1]))

    names = [dict(fields(one))[1].decode() for _, one in fields(ask(field(7, ""))[6])]
    assert names == ["grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
                     "grpc.reflection.v1alpha.ServerReflection", "process.v1.ProcessService"]
    for symbol in [*names, "process.v1.ProcessService.Start", "process.v1.Signal", "process.v1.PTY"]:
        assert 4 in ask(field(4, symbol)), symbol
    files = [value for number, value in fields(ask(field(3, "process/v1/process.proto"))[4])]
    assert [dict(fields(one))[1] for one in files] == [b"process/v1/process.proto", b"google/protobuf/empty.proto"]
    assert dict(fields(ask(field(4, "no.such.Thing"))[7]))[1] == NOT_FOUND
    assert 7 in ask(field(3, "nope.proto")) and 7 in ask(b"") and 7 in ask(field(5, field(1, "x")))
    client.h2.end_stream(call.stream)
    client.flush()
    assert client.finish(call).status == OK


def test_health(client, doors):
    check = "/grpc.health.v1.Health/Check"
    for service in ("", "process.v1.ProcessService"):
        assert client.unary(check, field(1, service)).messages() == [field(1, 1)]
    assert client.unary(check, field(1, "nope")).status == NOT_FOUND
    watch = client.begin("/grpc.health.v1.Health/Watch", b"")
    client.until(lambda: watch.messages())
    doors[0].agent.process.terminate()
    try:
        client.finish(watch)
    except ConnectionError:
        pass
    assert watch.messages()[:2] == [field(1, 1), field(1, 2)]
    assert doors[0].agent.process.wait(30) == 143


def test_the_end_of_the_agent_ends_streams_with_their_exit(client, doors):
    call, _ = client.start("sh", "-c", "trap 'echo bye; exit 9' TERM; echo up; while :; do sleep 0.05; done")
    client.until(lambda: output(call) == b"up\n")
    doors[0].agent.process.terminate()
    client.finish(call)
    assert output(call) == b"up\nbye\n" and exit_code(call) == 9 and call.status == OK
    assert doors[0].agent.process.wait(30) == 143


def test_commands_are_the_agents(client, doors):
    agent = doors[0].agent
    call, _ = client.start("sleep", "1000")
    one, = live(doors)
    assert one["argv"] == ["sleep", "1000"]
    agent.request("DELETE", f"/v1/commands/{one['id']}")
    client.finish(call)
    assert exit_code(call) == -1
