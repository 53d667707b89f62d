"""The output log: nothing lost, nothing repeated, every gap told, whoever reads and from wherever."""

import hashlib
import json
import random

import pytest

from waiting import until
from wire import bytes_of, check_contiguous, gather

KIB, MIB = 1024, 1024 * 1024
NUMBERS = "".join(f"{number}\n" for number in range(1, 1_000_001)).encode()  # what `seq 1000000` says


def read(agent, cid, accept=None, headers=None, **fields):
    """A stream over the log of a command."""
    text = "&".join(f"{name.rstrip('_')}={value}" for name, value in fields.items())
    headers = {**({"Accept": accept} if accept else {}), **(headers or {})}
    return agent.stream("GET", f"/v1/commands/{cid}/output?{text}", headers=headers)


def streamed(agent, command, accept=None, **fields):
    """Starts a command in mode `stream`; use it in a `with`."""
    return agent.stream("POST", "/v1/commands", json={"command": command, "mode": "stream", **fields},
                        headers={"Accept": accept} if accept else None)


def test_records_follow_each_other_in_one_offset_space(agent):
    cid = agent.run("for i in $(seq 200); do echo out $i; echo err $i >&2; done")["id"]
    events = agent.output(cid)
    out, err, others = gather(events)
    assert out == b"".join(b"out %d\n" % i for i in range(1, 201))
    assert err == b"".join(b"err %d\n" % i for i in range(1, 201))
    assert check_contiguous(events) == len(out) + len(err)
    assert [event["type"] for event in others] == ["exit"] and events[-1]["type"] == "exit"
    assert all(event["time"] for event in events if event["type"] == "output")


def test_a_reader_may_begin_inside_a_record(agent):
    cid = agent.run("printf 0123456789")["id"]
    for start in range(11):
        events = agent.output(cid, from_=start)
        assert gather(events)[0] == b"0123456789"[start:]
        assert check_contiguous(events, start) == 10


def test_without_follow_it_gives_what_there_is(agent):
    cid = agent.start("echo one; sleep 300")["id"]
    until(lambda: gather(agent.output(cid, follow="false"))[0] == b"one\n")
    with read(agent, cid, from_=0, limit_bytes=2) as stream:
        events = list(stream.events())
        assert gather(events)[0] == b"on" and events[0]["next"] == 2


def test_a_filtered_reader_sees_one_stream_with_the_offsets_of_both(agent):
    cid = agent.run("echo a; sleep 0.1; echo b >&2; sleep 0.1; echo c")["id"]
    events = agent.output(cid, stream="stdout")
    assert gather(events)[:2] == (b"a\nc\n", b"")
    assert [event["offset"] for event in events if event["type"] == "output"] == [0, 4]
    assert not [event for event in events if event["type"] == "gap"]
    assert gather(agent.output(cid, stream="stderr"))[:2] == (b"", b"b\n")
    assert agent.request("GET", f"/v1/commands/{cid}/output?stream=both-of-them").status == 400


def test_a_million_lines_are_exact_in_every_form(agent):
    for _ in range(3):
        with streamed(agent, "seq 1000000") as stream:
            assert gather(list(stream.events()))[0] == NUMBERS
    with streamed(agent, "seq 1000000", "application/octet-stream") as stream:
        assert stream.read() == NUMBERS
        assert stream.trailers["X-Exit-Code"] == "0"
    with streamed(agent, "seq 1000000", "text/event-stream") as stream:
        assert b"".join(bytes_of(data) for _, kind, data in stream.sse() if kind == "output") == NUMBERS
    result = agent.run("seq 1000000", output={"max_output_bytes": 8 * MIB})
    assert result["stdout"].encode() == NUMBERS and result["output_complete"] is True


@pytest.mark.parametrize("size, accept", [(100_000, None), (20_000_000, None),
                                          (100_000_000, "application/octet-stream")])
def test_a_line_without_an_end_arrives_whole(agent, size, accept):
    with streamed(agent, f"head -c {size} /dev/zero | tr '\\0' x", accept) as stream:
        pieces = stream.chunks() if accept else (bytes_of(e) for e in stream.events() if e["type"] == "output")
        digest, total = hashlib.sha256(), 0
        for piece in pieces:
            digest.update(piece)
            total += len(piece)
    assert (total, digest.hexdigest()) == (size, hashlib.sha256(b"x" * size).hexdigest())


def test_bytes_of_every_value_pass(agent):
    noise = random.Random(7).randbytes(3_000_000)
    (agent.root / "noise").write_bytes(noise)
    with streamed(agent, "cat noise") as stream:
        assert gather(list(stream.events()))[0] == noise
    with streamed(agent, "cat noise", "application/octet-stream") as stream:
        assert stream.read() == noise


def test_a_character_is_never_cut(agent):
    text = "aé日本語𝄞" * 40_000
    (agent.root / "text").write_text(text)
    for command in ("cat text", "dd if=text bs=1000 2>/dev/null", "dd if=text bs=333 count=2000 2>/dev/null"):
        with streamed(agent, command) as stream:
            events = [event for event in stream.events() if event["type"] == "output"]
        assert text.encode().startswith(b"".join(map(bytes_of, events)))
        assert not [event for event in events if "\ufffd" in event.get("data", "")]
        cut = [event for event in events if "data_base64" in event]
        assert len(cut) <= 2, "whole characters go as text"


def test_half_a_character_is_not_held_back_for_long(agent):
    with streamed(agent, r"printf 'a\303'; sleep 1; printf '\251b'") as stream:
        pieces = [bytes_of(event) for event in stream.events() if event["type"] == "output"]
    assert b"".join(pieces) == "aéb".encode() and len(pieces) > 1


def test_dropped_output_is_reported_as_a_gap(agent):
    cid = agent.start("seq 1000000", output={"overflow": "drop", "keep_bytes": 256 * KIB})["id"]
    assert agent.ended(cid)["exit_code"] == 0
    events = agent.output(cid)
    assert check_contiguous(events) == len(NUMBERS)
    assert [event for event in events if event["type"] == "gap"]
    kept = [(event["offset"], bytes_of(event)) for event in events if event["type"] == "output"]
    assert all(NUMBERS[at:at + len(data)] == data for at, data in kept)
    head = b"".join(data for _, data in kept)[:64 * KIB]
    assert head == NUMBERS[:64 * KIB] and kept[-1][1].endswith(b"\n1000000\n")
    assert sum(len(data) for _, data in kept) <= 512 * KIB


def test_a_reader_from_inside_a_gap_is_told_the_rest_of_it(agent):
    cid = agent.run("seq 1000000", output={"overflow": "drop", "keep_bytes": 256 * KIB})["id"]
    gap = next(event for event in agent.output(cid) if event["type"] == "gap")
    middle = (gap["from"] + gap["to"]) // 2
    events = agent.output(cid, from_=middle)
    assert events[0]["type"] == "gap" and (events[0]["from"], events[0]["to"]) == (middle, gap["to"])
    assert check_contiguous(events, middle) == len(NUMBERS)


def test_auto_loses_nothing_for_the_one_who_started_the_stream(agent):
    with streamed(agent, "seq 1000000", output={"keep_bytes": 128 * KIB}) as stream:
        events = []
        for event in stream.events():  # slower than the writer: each event is judged while the command runs on
            events.append(event)
            agent.request("GET", "/healthz") if len(events) % 5 == 0 and len(events) < 500 else None
    assert not [event for event in events if event["type"] == "gap"]
    assert gather(events)[0] == NUMBERS


def test_auto_without_such_a_reader_drops_rather_than_waits(agent):
    cid = agent.start("seq 1000000; touch over", output={"keep_bytes": 128 * KIB})["id"]
    assert agent.ended(cid)["exit_code"] == 0 and (agent.root / "over").exists()
    assert check_contiguous(agent.output(cid)) == len(NUMBERS)


def test_block_waits_for_a_reader(agent):
    cid = agent.start("seq 1000000; touch over", output={"overflow": "block", "keep_bytes": 128 * KIB})["id"]
    until(lambda: check_contiguous(agent.output(cid, follow="false")) > 60 * KIB)
    assert agent.run("sleep 0.5", id="meanwhile")["exit_code"] == 0
    assert not (agent.root / "over").exists()
    events = agent.output(cid, lossless="true")
    assert gather(events)[0] == NUMBERS and not [event for event in events if event["type"] == "gap"]
    assert (agent.root / "over").exists()


def test_kill_ends_a_command_that_says_too_much(agent):
    result = agent.run("yes", output={"overflow": "kill", "keep_bytes": 256 * KIB})
    assert result["cause"] == "output_limit"
    assert result["stdout"].startswith("y\ny\n")
    until(lambda: not agent.strays())


def test_a_wait_gives_head_and_tail_and_counts_the_middle(agent):
    result = agent.run("seq 1000000; echo small >&2", output={"max_output_bytes": 10_000})
    text = result["stdout"]
    assert text.startswith("1\n2\n3\n") and text.endswith("\n999999\n1000000\n")
    assert 5_000 <= len(text) <= 10_000
    assert result["omitted_bytes"] == {"stdout": len(NUMBERS) - len(text), "stderr": 0}
    assert result["truncated"] is True and result["stderr"] == "small\n"
    whole = agent.run("seq 100", output={"max_output_bytes": 10_000})
    assert whole["omitted_bytes"] == {"stdout": 0, "stderr": 0} and not whole["truncated"]


def test_fifty_resumptions_at_random_offsets_see_the_same_bytes(agent):
    cid = agent.start("seq 700000; sleep 0.3; seq 700001 1000000")["id"]
    chance = random.Random(11)
    for _ in range(50):
        start = chance.randrange(3_000_000)
        at, wanted = start, chance.randrange(1, 200_000)
        with read(agent, cid, from_=start, follow="true") as stream:
            for event in stream.events():
                data = bytes_of(event)
                assert event["offset"] == at and NUMBERS[at:at + len(data)] == data
                at = event["next"]
                if at - start >= wanted:
                    break
    agent.ended(cid)


def test_a_reader_that_is_cut_off_again_and_again_gets_everything_once(agent):
    command = "for i in $(seq 20); do seq $(((i-1)*50000+1)) $((i*50000)); done"
    cid = agent.start(command)["id"]
    seen, at = [], 0
    chance = random.Random(5)
    done = False
    while not done:
        with read(agent, cid, from_=at, follow="true") as stream:
            left = chance.randrange(1, 400_000)
            for event in stream.events():
                if event["type"] == "exit":
                    done = True
                    break
                seen.append(bytes_of(event))
                at = event["next"]
                left -= len(seen[-1])
                if left < 0:
                    break  # hang up in the middle
    assert b"".join(seen) == NUMBERS


def test_server_sent_events_resume_by_their_id(agent):
    cid = agent.run("seq 1000; echo err >&2")["id"]
    with read(agent, cid, "text/event-stream", follow="true") as stream:
        assert stream.headers.get_content_type() == "text/event-stream"
        records = [record for record in stream.sse() if record[1]]
    for sid, kind, data in records:
        assert kind == data["type"]
        if kind == "output":
            assert int(sid) == data["next"]
    first = records[0][2]
    with read(agent, cid, "text/event-stream", {"Last-Event-ID": str(first["next"])}, follow="true", from_=0) as stream:
        rest = [data for _, kind, data in stream.sse() if kind == "output"]
    assert bytes_of(first) + b"".join(map(bytes_of, rest)) == b"".join(bytes_of(d)
                    for _, k, d in records if k == "output")


def test_a_form_that_does_not_exist_is_not_acceptable(agent):
    cid = agent.run("echo hi")["id"]
    assert agent.request("GET", f"/v1/commands/{cid}/output", headers={"Accept": "image/png"}).status == 406
    with read(agent, cid, "*/*") as stream:
        assert stream.headers.get_content_type() == "application/x-ndjson"


def test_a_client_gets_the_form_that_it_likes_best(agent):
    cid = agent.run("echo hi")["id"]
    for accept, form in (("text/event-stream;q=0.5, application/octet-stream", "application/octet-stream"),
                         ("application/x-ndjson;q=0, text/event-stream;q=0.1", "text/event-stream"),
                         ("text/*", "text/event-stream"), ("*/*;q=0.1, application/octet-stream", "application/octet-stream"),
                         ("text/event-stream, application/octet-stream", "text/event-stream")):
        with read(agent, cid, accept) as stream:
            assert stream.headers.get_content_type() == form, accept


def test_output_of_a_background_child_after_the_exit_is_marked_late(agent):
    with streamed(agent, "(sleep 0.8; echo late) & echo now") as stream:
        events = list(stream.events())
    assert gather(events)[0] == b"now\n" and events[-1]["type"] == "exit"
    assert events[-1]["output_complete"] is False and len(events[-1]["background"]) >= 1
    cid = events[0]["id"]
    rest = agent.output(cid, until="end")
    assert gather(rest)[0] == b"now\nlate\n" and rest[-1]["type"] == "end"
    late = [event for event in rest if event["type"] == "output" and event.get("late")]
    assert [event["data"] for event in late] == ["late\n"]
    assert [event["type"] for event in rest if event["type"] in ("exit", "end")] == ["exit", "end"]


def test_the_end_record_has_the_sums_of_every_byte(agent):
    cid = agent.run("seq 1000000; echo err >&2", output={
                    "checksum": True, "keep_bytes": 128 * KIB, "overflow": "drop"})["id"]
    end = agent.output(cid, until="end")[-1]
    assert end["type"] == "end" and end["bytes"] == {"stdout": len(NUMBERS), "stderr": 4}
    assert end["sha256"] == {"stdout": hashlib.sha256(
        NUMBERS).hexdigest(), "stderr": hashlib.sha256(b"err\n").hexdigest()}
    plain = agent.output(agent.run("echo hi")["id"], until="end")[-1]
    assert plain["bytes"] == {"stdout": 3, "stderr": 0} and not plain.get("sha256")


def test_many_readers_at_their_own_pace_see_the_same(agent):
    cid = agent.start("while [ ! -e go ]; do sleep 0.02; done; seq 200000")["id"]
    streams = [read(agent, cid, follow="true") for _ in range(30)]
    (agent.root / "go").touch()
    expected = NUMBERS[:len("".join(f"{n}\n" for n in range(1, 200_001)))]
    for stream in streams:
        with stream:
            assert gather(list(stream.events()))[0] == expected


def test_invalid_offsets_are_refused(agent):
    cid = agent.run("echo hi")["id"]
    for bad in ("from=-1", "from=x", "limit_bytes=-5", "follow=perhaps", "from=99999999999999999999999"):
        answer = agent.request("GET", f"/v1/commands/{cid}/output?{bad}")
        answer.problem(400)
        assert bad.split("=")[0] in json.dumps(answer.json())
