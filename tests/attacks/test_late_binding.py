"""A client that binds a warm sandbox has it alone, whoever else tries at the same moment."""

import hashlib
import json

import pytest

from wire import Stream, request_bytes

RIVALS = 12


def digest(token):
    return hashlib.sha256(token.encode()).hexdigest()


@pytest.mark.parametrize("setup", [{"setup": {"command": "echo $WHO"}}, {}], ids=["setup", "no setup"])
def test_one_of_many_clients_binds_the_sandbox_and_the_others_are_refused(agent, setup):
    """Two launchers that take the same one from a pool: none may believe that it is his when it is another's."""
    sockets = [agent.connect() for _ in range(RIVALS)]
    for number, sock in enumerate(sockets):
        body = json.dumps({"env": {"WHO": str(number)}, "labels": {"who": str(number)},
                           "token_sha256": [digest(f"of-{number}")], **setup}).encode()
        given = agent.headers({"Content-Type": "application/json", "Content-Length": len(body)})
        sock.sendall(request_bytes("POST", "/v1/init", given, body))
    answers = []
    for sock in sockets:
        with Stream(sock) as stream:
            answers.append(stream.answer())
    winners = [number for number, answer in enumerate(answers) if answer.status == 200]
    assert len(winners) == 1, answers
    winner = str(winners[0])
    for number, answer in enumerate(answers):
        if number == winners[0]:
            assert not setup or answer.json()["setup"]["stdout"] == winner + "\n"
            assert agent.request("GET", "/v1/version", token=f"of-{number}").status == 200
        else:
            answer.problem(409, "already_initialised")
            agent.request("GET", "/v1/version", token=f"of-{number}").problem(401, "unauthenticated")
    assert agent.run("echo $WHO")["stdout"] == winner + "\n"
    assert agent.request("GET", "/v1/version").json()["labels"] == {"who": winner}
