"""A disk that is full: 507, what was there stays as it was, nothing else is left, and the agent serves on."""

import io
import tarfile

import pytest

from confined import on_small_disk
from wire import check_contiguous, gather

KIB = 1024
OLD = b"old"
MORE = b"x" * (512 * KIB)  # than there is room for


@pytest.fixture
def agent(start_agent):
    """The agent's root has 256 KiB left."""
    agent = start_agent(wrapper=on_small_disk("root", "1M"))
    agent.run(f"mkdir -p tree/sub; printf {OLD.decode()} > f; head -c {768 * KIB} /dev/zero > tree/sub/large")
    return agent


def files(agent):
    return agent.run("find . ! -type d | sort")["stdout"].split()


def archive(**members):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as packed:
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            packed.addfile(member, io.BytesIO(data))
    return made.getvalue()


def operation(name, body):
    return {"method": "POST", "path": f"/v1/files:{name}", "json": body}


def write(path, data):
    return {"op": "write", "path": path, "content": data.decode()}


TOO_MUCH = {
    "a file": {"method": "PUT", "path": "/v1/files/f", "body": MORE},
    "a file in a new directory": {"method": "PUT", "path": "/v1/files/new/f", "body": MORE},
    "an edit": {"method": "PATCH", "path": "/v1/files/f", "json": {"edits": [{"old": "old", "new": MORE.decode()}]}},
    "a batch": operation("batch", {"operations": [write("f", MORE[:200 * KIB]), write("new/g", MORE[:200 * KIB])]}),
    "a copy": operation("copy", {"from": "tree/sub/large", "to": "f", "overwrite": True}),
    "a copied tree": operation("copy", {"from": "tree", "to": "copy"}),
    "an archive": {"method": "PUT", "path": "/v1/files:archive", "body": archive(f=MORE)},
}


@pytest.mark.parametrize("request_of", TOO_MUCH.values(), ids=TOO_MUCH)
def test_a_write_that_does_not_fit_on_the_disk_leaves_no_file(agent, request_of):
    agent.request(**request_of).problem(507, "no_space")
    assert agent.request("GET", "/v1/files/f").body == OLD
    assert files(agent) == ["./f", "./tree/sub/large"]
    assert agent.request("DELETE", "/v1/files/tree?recursive=true").status == 204
    assert agent.request("PUT", "/v1/files/f", body=MORE).status == 200
    assert agent.request("GET", "/v1/files/f").body == MORE


def test_not_even_a_small_file_fits_on_a_disk_that_is_full_to_the_last_byte(agent):
    agent.run("cat /dev/zero > rest")
    agent.request("PUT", "/v1/files/f", body=b"new").problem(507, "no_space")
    agent.request("PATCH", "/v1/files/f", json={"edits": [{"old": "old", "new": "new"}]}).problem(507, "no_space")
    assert agent.request("GET", "/v1/files/f").body == OLD
    assert files(agent) == ["./f", "./rest", "./tree/sub/large"]
    assert agent.request("DELETE", "/v1/files/rest").status == 204
    assert agent.request("PUT", "/v1/files/f", body=b"new").status == 200


def test_an_append_keeps_what_fitted_and_goes_on_from_there(agent):
    agent.request("PATCH", "/v1/files/log?append=true&offset=0", body=MORE).problem(507, "no_space")
    had = len(agent.request("GET", "/v1/files/log").body)
    assert agent.request("DELETE", "/v1/files/tree?recursive=true").status == 204
    rest = agent.request("PATCH", f"/v1/files/log?append=true&offset={had}", body=MORE[had:])
    assert rest.status == 200 and agent.request("GET", "/v1/files/log").body == MORE


def test_output_that_the_data_directory_has_no_room_for_is_a_gap(start_agent):
    agent = start_agent("--data-dir", "data", "--output-memory", "2MiB", "--keep-bytes", "1MiB",
                        wrapper=on_small_disk("data", "1M"))
    whole = "".join(f"{number}\n" for number in range(1, 1_000_001)).encode()
    with agent.stream("POST", "/v1/commands", json={"command": "seq 1000000", "mode": "stream"}) as stream:
        assert gather(list(stream.events()))[0] == whole  # whoever reads along misses nothing
    cid = agent.start("seq 1000000")["id"]
    assert agent.ended(cid)["exit_code"] == 0
    events = agent.output(cid)
    assert check_contiguous(events) == len(whole)
    assert [event for event in events if event["type"] == "gap"]
    assert agent.run("echo on")["stdout"] == "on\n"
