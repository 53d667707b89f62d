"""Attacks of strangers on the port of the dialect python-runtime: malformed forms, and output without end."""

import pytest

from python_runtime import MULTIPART, door, start_door  # noqa: F401

MIB = 1024 * 1024


@pytest.mark.parametrize("body, status, why", [
    (b"--b0undary\r\nA: " + b"x" * MIB, 413, "8192 bytes"),
    (b"--b0undary\r\nContent-Disposition: form-data; name=n\r\n\r\n\r\n" * 1001, 413, "more than 1000 parts"),
    (b"x" * MIB, 400, "last boundary"),
    (b"\r\n--b0undar" * 100_000, 400, "last boundary"),
    (b"--b0undary\r\n\r\n\r\n\r\nx", 400, "Content-Disposition"),
], ids=lambda value: repr(value)[:20])
def test_multipart_that_makes_no_sense_changes_nothing(door, body, status, why):
    answer = door.request("POST", "/upload", body=body, headers=MULTIPART)
    assert answer.status == status and why in answer.json()["detail"]
    assert not list(door.agent.root.iterdir())


def test_a_quote_that_is_not_closed_ends_with_its_line(door):
    body = b'--b0undary\r\nContent-Disposition: form-data; name="file"; filename="a\r\n\r\nx\r\n--b0undary--'
    assert door.request("POST", "/upload", body=body, headers=MULTIPART).status == 200
    assert [(path.name, path.read_bytes()) for path in door.agent.root.iterdir()] == [("a", b"x")]


def test_a_flood_of_output_is_bounded(door):
    answer = door.request("POST", "/execute", json={"command": "head -c 100000000 /dev/zero; echo end", "timeout_seconds": 60})
    assert answer.status == 200 and len(answer.body) < 16 * MIB
    assert answer.json()["stdout"].endswith("end\n") and "left out of this answer" in answer.json()["stderr"]
