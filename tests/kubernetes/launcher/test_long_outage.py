"""`skiff serve` while its API server says nothing for ten minutes, and its clients go on working."""

import concurrent.futures
import os
import threading
import time

import pytest

import watchdogs
from outages import BLOCK, Upload, answers_again, api, create, is_refused, pair, replicas, run  # noqa: F401

SECONDS = int(os.environ.get("OUTAGE", 600))
PEOPLE = 3  # of each replica
STEP = 2


@pytest.fixture(autouse=True)
def watchdog(cluster):
    with watchdogs.at_most(seconds=SECONDS + 240):
        yield


def test_ten_minutes_without_an_api_server_lose_no_byte_of_those_who_work(replicas, api, pair):  # noqa: F811
    assert create(replicas, pair[0], "box").status == 201
    for ask in pair:
        answers_again(replicas, ask, "box", 200)
    rounds = SECONDS // STEP
    count = b"n=0; until [ -e go ]; do n=$((n + 1)); echo $n; sleep 0.2; done"
    uploads = [Upload(replicas, ask, f"/s/box/7070/v1/files/upload-{number}", rounds + 1) for number, ask in enumerate(pair)]
    is_over = threading.Event()
    done = []

    def works(ask, who):
        """Runs commands, one after the other, and asks whether the replica is ready."""
        while not is_over.is_set():
            answer = run(replicas, ask, "box", f"echo {who}; seq 1 1000".encode())
            assert (answer.status, answer.body.split(b"\n", 1)[0]) == (200, who.encode()), answer.body[:200]
            assert answer.body.endswith(b"\n1000\n")
            assert ask("GET", "/readyz").status == 200
            done.append(who)
            is_over.wait(0.1)

    with concurrent.futures.ThreadPoolExecutor(len(pair) * (PEOPLE + 1)) as pool:
        streams = [pool.submit(run, replicas, ask, "box", count) for ask in pair]
        people = [pool.submit(works, ask, f"{number}-{who}") for number, ask in enumerate(pair) for who in range(PEOPLE)]
        try:
            api.be("silent")
            begun = time.monotonic()
            for number in range(rounds):
                for upload in uploads:
                    upload.send()
                for ask in pair:
                    assert is_refused(create(replicas, ask, "another")), number
                assert [one.result() for one in people + streams if one.done()] == [], number
                is_over.wait(max(0, begun + (number + 1) * STEP - time.monotonic()))
            api.be("well")
            for ask in pair:
                answers_again(replicas, ask)
        finally:
            api.be("well")
            is_over.set()
            assert run(replicas, pair[0], "box", b"touch go").status == 200
        for one in people:
            one.result()
        for stream in streams:
            lines = stream.result().body.split()
            assert lines == [str(number).encode() for number in range(1, len(lines) + 1)] and len(lines) > rounds
    for number, (upload, ask) in enumerate(zip(uploads, pair)):
        upload.send()
        assert upload.finish() == 201
        told = run(replicas, ask, "box", f"wc -c <upload-{number}".encode()).body
        assert int(told) == len(BLOCK) * (rounds + 1)
    assert create(replicas, pair[1], "after").status == 201
    print(f"{len(done)} commands, {rounds} blocks of each upload")
