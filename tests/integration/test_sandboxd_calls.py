"""Calls of the dialect sandboxd as other libraries of gRPC and protobuf make them: what is left out, what is more, what comes
in another form; and REST as Go's net/http is known to do it."""

import struct

import pytest

from grpc_client import Call, config, executed, exit_code, field, fields, output, varint
from python_runtime import MULTIPART
from sandboxd import client, doors, rest, start_doors  # noqa: F401

OK, INVALID, NOT_FOUND, UNIMPLEMENTED = 0, 3, 5, 12


def test_fields_that_nobody_knows_are_passed_by(client):
    more = field(99, "text") + field(100, 7) + varint(101 << 3 | 1) + bytes(8) + varint(102 << 3 | 5) + bytes(4)
    inner = field(1, "echo") + more + field(1, "x") + field(2, field(1, "A") + more + field(2, "b"))
    assert executed(client.unary("Execute", more + field(1, inner) + more)) == (0, b"x\n", b"")


def test_messages_that_come_in_parts_are_put_together(client):
    """The parts of a message that comes twice are merged, and the last value of a scalar counts."""
    parts = field(1, field(1, "sh") + field(3, "/nope")) + field(1, field(1, "-c") + field(1, "echo $A; pwd") + field(3, ""))
    twice = field(2, field(1, "A") + field(2, "old")) + field(2, field(1, "A") + field(2, "new"))
    code, out, _ = executed(client.unary("Execute", parts + field(1, twice)))
    assert code == 0 and out.startswith(b"new\n")


def test_variables_are_added_to_the_agents(client):
    line = config("sh", "-c", 'echo "$HOME|$EMPTY|$WITH"; env | grep -c ^EMPTY=', env={"EMPTY": "", "WITH": "a=b\n\u00e9"})
    told = executed(client.unary("Execute", line))[1].decode()
    assert told.endswith("||a=b\n\u00e9\n1\n") and told.startswith("/")
    # An entry without its value is an empty one.
    bare = field(1, field(1, "sh") + field(1, "-c") + field(1, "echo ${X-unset}.") + field(2, field(1, "X")))
    assert executed(client.unary("Execute", bare))[1] == b".\n"


def test_commands_are_words_and_not_a_line(client, doors):
    assert executed(client.unary("Execute", config("echo", "a|b", "$HOME", "*", "")))[1] == b"a|b $HOME * \n"
    script = doors[0].agent.root / "sub" / "run"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\necho ran\n")
    script.chmod(0o755)
    assert executed(client.unary("Execute", config("./run", cwd="sub")))[1] == b"ran\n"
    assert executed(client.unary("Execute", config("sub/run")))[1] == b"ran\n"
    call = client.unary("Execute", config("run"))
    assert call.status == NOT_FOUND and "run" in call.message


def test_bytes_of_output_are_as_they_are(client):
    every = bytes(range(256)) * 300
    line = "cat; printf '\\377' >&2"
    call, number = client.start("sh", "-c", line)
    for at in range(0, len(every), 10_000):
        assert client.unary("WriteStdin", field(1, number) + field(2, every[at:at + 10_000])).status == OK
    assert client.unary("WriteStdin", field(1, number) + field(3, b"")).status == OK
    client.finish(call)
    assert output(call) == every and output(call, 3) == b"\xff" and exit_code(call) == 0


def test_events_hold_one_thing_each(client):
    """A number first, an exit last, and between them one stream each: what a oneof promises."""
    call, number = client.start("sh", "-c", "echo a; echo b >&2; exit 0")
    client.finish(call)
    events = [fields(message) for message in call.messages()]
    assert all(len(event) == 1 for event in events)
    kinds = [event[0][0] for event in events]
    assert kinds[0] == 1 and kinds[-1] == 4 and sorted(kinds[1:-1]) == [2, 3]
    assert events[-1] == [(4, b"")], "an exit with code 0 is there, and empty"
    assert client.unary("Execute", config("true")).messages() == [b""]


def test_input_that_says_nothing(client):
    call, number = client.start("cat")
    assert client.unary("WriteStdin", field(1, number)).status == OK
    both = field(1, number) + field(3, b"") + field(2, b"x")  # of a oneof the last counts
    assert client.unary("WriteStdin", both).status == OK
    assert client.unary("WriteStdin", field(1, number) + field(2, b"y") + field(3, b"")).status == OK
    client.finish(call)
    assert output(call) == b"x" and exit_code(call) == 0
    for message in (b"", field(1, 0), field(1, 1 << 31), field(3, b"")):
        assert client.unary("WriteStdin", message).status == NOT_FOUND
        assert client.unary("SendSignal", message).status == NOT_FOUND
        assert client.unary("ResizeTTY", message).status == NOT_FOUND


def test_a_command_of_execute_has_no_number(client):
    assert executed(client.unary("Execute", config("true")))[0] == 0
    _, number = client.start("true")
    assert number == 1


@pytest.mark.parametrize("kind, status", [
    ("application/grpc", "200"), ("application/grpc+proto", "200"), ("application/grpc;charset=utf-8", "200"),
    ("APPLICATION/GRPC", "200"), ("application/grpcx", "415"), ("application/grpc-web", "415"), ("application/json", "415"), ("", "415")])
def test_content_types(client, kind, status):
    stream = client.h2.get_next_available_stream_id()
    client.calls[stream] = answer = Call()
    answer.stream = stream
    client.h2.send_headers(stream, [(":method", "POST"), (":scheme", "http"), (":path", "/process.v1.ProcessService/Execute"),
                                    (":authority", "x"), ("content-type", kind), ("te", "trailers")])
    message = config("true")
    client.h2.send_data(stream, struct.pack(">BI", 0, len(message)) + message, end_stream=True)
    client.flush()
    client.finish(answer)
    assert answer.headers[":status"] == status and (status != "200" or answer.status == OK)


def test_metadata_of_any_kind(client):
    more = [("authorization", "Bearer x"), ("x-sandbox-id", "box"), ("some-bin", "AAECAw"), ("user-agent", "grpc-java/1.60"),
            ("grpc-trace-bin", "AAA"), ("grpc-accept-encoding", "gzip, deflate"), ("grpc-encoding", "identity"),
            *((f"x-{i}", "y" * 50) for i in range(60))]
    assert executed(client.unary("Execute", config("echo", "x"), headers=more))[1] == b"x\n"


def test_methods_that_nobody_knows(client):
    for path in ("/process.v1.ProcessService/Nope", "/process.v1.Nope/Start", "/process.v2.ProcessService/Start", "/Start", "/",
                 "//", "/process.v1.ProcessService/start", "/process.v1.ProcessService/Start/", "/process.v1.ProcessService"):
        call = client.unary(path, config("true"))
        assert (call.headers[":status"], call.status) == ("200", UNIMPLEMENTED) and call.message, path
    assert executed(client.unary("Execute", config("true")))[0] == 0


def test_errors_come_without_a_body(client):
    """"Trailers-Only": one block of fields, with the status in it."""
    call = client.unary("Execute", config())
    assert call.headers[":status"] == "200" and call.headers["grpc-status"] == str(INVALID) and not call.trailers
    assert call.headers["content-type"] == "application/grpc" and call.data == b""
    odd = client.unary("Execute", config("/no/such/%\u00e9\n"))
    assert odd.status == NOT_FOUND and all(" " <= c <= "~" for c in odd.message)
    assert "%25%C3%A9" in odd.message


def test_health_of_services_that_nobody_knows(client):
    watch = client.begin("/grpc.health.v1.Health/Watch", field(1, "nope"))
    client.until(lambda: watch.messages())
    assert watch.messages() == [field(1, 3)] and not watch.over
    client.cancel(watch)


# --- REST ---


def test_errors_are_checked_in_the_order_of_the_original(rest):
    """A mode before a path, a path before a flag: as the original."""
    assert rest.request("PUT", "/v1/files/..%2Fx?mode=9", body=b"").status == 400
    assert rest.request("DELETE", "/v1/files/nope?recursive=maybe").status == 404
    assert rest.request("DELETE", "/v1/files/..%2Fx?recursive=maybe").status == 403


def test_bodies_of_any_kind_are_stored_as_they_are(rest):
    body = bytes(range(256)) * 100
    for kind in ("application/octet-stream", "application/json", "application/x-www-form-urlencoded", "multipart/mixed; boundary=b",
                 "nonsense", ""):
        assert rest.request("PUT", "/v1/files/f", body=body, headers={"Content-Type": kind}).status == 204, kind
        assert (rest.agent.root / "f").read_bytes() == body, kind
    assert rest.request("PUT", "/v1/files/f", body=iter([b"ab", b"", b"c"])).status == 204
    assert (rest.agent.root / "f").read_bytes() == b"ab" + b"c"
    answer = rest.request("PUT", "/v1/files/none", body=b"")
    assert (answer.status, answer.body, (rest.agent.root / "none").read_bytes()) == (204, b"", b"")


def test_the_first_of_several_files_counts(rest):
    part = b'--b0undary\r\nContent-Disposition: form-data; name="%b"; filename="n"\r\n\r\n%b\r\n'
    body = part % (b"other", b"0") + part % (b"file", b"1") + part % (b"file", b"2") + b"--b0undary--\r\n"
    assert rest.request("PUT", "/v1/files/f", body=body, headers=MULTIPART).status == 204
    assert (rest.agent.root / "f").read_bytes() == b"1"
    unnamed = b'--b0undary\r\nContent-Disposition: form-data; name="file"\r\n\r\nabc\r\n--b0undary--\r\n'
    assert rest.request("PUT", "/v1/files/f", body=unnamed, headers=MULTIPART).status == 204
    assert (rest.agent.root / "f").read_bytes() == b"abc"
    assert rest.request("PUT", "/v1/files/g", body=b"x", headers={"Content-Type": "multipart/form-data"}).status == 400


def test_a_file_that_is_written_again_has_the_usual_mode(rest):
    path = rest.agent.root / "f"
    for asked, mode in (("", 0o644), ("?mode=0600", 0o600), ("?mode=", 0o644), ("?mode=0777", 0o777), ("?mode=0000", 0), ("", 0o644)):
        assert rest.request("PUT", f"/v1/files/f{asked}", body=b"x").status == 204
        assert path.stat().st_mode & 0o7777 == mode, asked


def test_listings_name_the_path_as_it_was_asked_for(rest):
    (rest.agent.root / "a/b").mkdir(parents=True)
    for path, told in (("", "/"), ("a", "/a"), ("a/b", "/a/b"), ("a%2Fb", "/a/b"), ("%2Fa", "/a"), ("a/b/", "/a/b/")):
        answer = rest.request("GET", f"/v1/files/{path}")
        assert answer.json()["path"] == told and answer.body.startswith(b'{"path":"') and answer.body.endswith(b"]}\n")
        assert answer.headers["Content-Type"] == "application/json"
        head = rest.request("HEAD", f"/v1/files/{path}")
        assert (head.status, head.body) == (200, b"")
