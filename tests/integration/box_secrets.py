"""A box whose proxy has the token of the servers of secret_origin.py."""

import json
import pathlib

import pytest

import egress_world
import secret_origin

PROBE = pathlib.Path(__file__).parent / "box_probes/in_tls.py"
TO = f"{secret_origin.HOST}:{secret_origin.PORT}"


@pytest.fixture
def origin(outside, tmp_path):
    """Its token and its directory."""
    with secret_origin.running(outside.laptop.internet, tmp_path / "origin", egress_world.FAR) as server:
        yield server


FOR_GIT = ("--basic", secret_origin.USER)


def keep(skiff, origin, name="git", hosts=(TO,), value=None, more=FOR_GIT):
    ca = skiff.work / "ca.pem"
    ca.write_bytes((origin.directory / "ca.pem").read_bytes())
    flags = [word for host in hosts for word in ("--host", host)]
    return skiff("secret", "set", name, *flags, *more, "--ca-file", ca, typed=(value or origin.token).encode() + b"\n")


@pytest.fixture
def box(skiff, origin):
    keep(skiff, origin)
    skiff.up("box", "--egress-secret", "git")
    return skiff


def say(skiff, *texts, to=TO):
    """The answers to each text in the TLS of a tunnel."""
    skiff("cp", "-q", PROBE, "box:/tmp/in_tls.py")
    return json.loads(skiff("exec", "box", "--", "python3", "/tmp/in_tls.py", to, json.dumps(list(texts)))[0])


def get(path, *fields, method="GET", host=TO):
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", *fields, "Connection: close"]
    return "\r\n".join(lines) + "\r\n\r\n"
