"""`skiff serve` while its API server has faults: sandboxes that run go on, and requests that need it are refused at once."""

import concurrent.futures

from outages import BLOCK, Upload, answers_again, api, create, is_refused, pair, replicas, run  # noqa: F401
from waiting import until

LINES = 20_000
# The first is refused at once; of the others the API server's silence has to be noticed first.
FAULTS = ["500", "gone", "killed", "silent"]


def test_uploads_and_streams_go_on_through_two_replicas_whatever_the_api_server_does(replicas, api, pair):
    for name in ("box", "other"):
        assert create(replicas, pair[0], name).status == 201
        for ask in pair:
            answers_again(replicas, ask, name, 200)
    for ask in pair:
        assert run(replicas, ask, "box").status == 200
    wait = b"seq 1 %d; until [ -e go ]; do sleep 0.05; done; seq 1 %d" % (LINES, LINES)
    uploads = [Upload(replicas, ask, f"/s/box/7070/v1/files/upload-{number}", len(FAULTS) + 1) for number, ask in enumerate(pair)]
    with concurrent.futures.ThreadPoolExecutor(len(pair)) as pool:
        streams = [pool.submit(run, replicas, ask, "box", wait) for ask in pair]
        try:
            for fault in FAULTS:
                api.be(fault)
                for ask in pair:
                    # No request has gone to the other one before.
                    for name in ("box", "other"):
                        answer = run(replicas, ask, name)
                        assert (answer.status, answer.body) == (200, b"there\n"), (fault, name, answer.body)
                    assert ask("GET", "/readyz").status == 200
                    if fault != "gone":
                        assert is_refused(create(replicas, ask, "another")), fault
                        assert is_refused(ask("DELETE", "/v1/sandboxes/box", None, replicas.key)), fault
                        assert is_refused(ask("PUT", "/v1/sandboxes/box/network", b'{"egress": []}', replicas.key, {"Content-Type": "application/json"})), fault
                for upload in uploads:
                    upload.send()
                api.be("well")
                for ask in pair:
                    answers_again(replicas, ask)
        finally:
            api.be("well")
            assert run(replicas, pair[0], "box", b"touch go").status == 200
        lines = b"".join(f"{number}\n".encode() for number in range(1, LINES + 1))
        assert [stream.result().body for stream in streams] == [lines * 2] * len(pair)
    for number, (upload, ask) in enumerate(zip(uploads, pair)):
        upload.send()
        assert upload.finish() == 201
        digest = run(replicas, ask, "box", f"md5sum <upload-{number}; wc -c <upload-{number}".encode()).body.split()
        assert digest[-1] == str(len(BLOCK) * (len(FAULTS) + 1)).encode(), digest
    # The watches go on: another client removes one.
    replicas.skiff("rm", "other", "--driver", "pod", "-q")
    for ask in pair:
        until(lambda ask=ask: run(replicas, ask, "other").status == 404, 30, "that it is gone", 0.1)
        assert run(replicas, ask, "box").body == b"there\n"


def test_a_sandbox_is_made_with_a_name_though_each_answer_takes_seconds(replicas, api, pair):
    answers_again(replicas, pair[0])
    api.be("slow")
    try:
        answer = create(replicas, pair[0], "slow")
    finally:
        api.be("well")
    assert answer.status == 201, answer.body
    assert run(replicas, pair[1], "slow").body == b"there\n"
