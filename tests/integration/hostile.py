"""A box whose proxy has the secret for servers that attack it: see hostile_origin.py."""

import json

import pytest

import egress_world
import hostile_origin
import secret_origin
from box_secrets import TO, get, keep, say


def place(port):
    return f"{secret_origin.HOST}:{port}"


ANSWERS = place(hostile_origin.ANSWERS)


class Hostile:
    """A box that has the secret for the servers, and what these answer."""

    def __init__(self, skiff, origin):
        self.skiff, self.origin, self.token = skiff, origin, origin.token

    def teach(self, **answers):
        for name, pieces in answers.items():
            (self.origin.directory / "answers" / name).write_text(json.dumps([pieces] if isinstance(pieces, str) else pieces))

    def ask(self, **answers):
        """The text that the box gets for each of these answers, by name."""
        self.teach(**answers)
        return dict(zip(answers, say(self.skiff, *(get(f"/{name}", host=ANSWERS) for name in answers), to=ANSWERS)))

    def start(self, port, path="/x"):
        """A command that asks a server, and does not end as long as that does not answer."""
        return self.skiff.start("exec", "box", "--", "python3", "/tmp/in_tls.py", place(port), json.dumps([get(path, host=place(port))]))


@pytest.fixture
def hostile(skiff, outside, origin):
    with hostile_origin.running(outside.laptop.internet, origin, egress_world.FAR):
        keep(skiff, origin, hosts=(TO, *map(place, hostile_origin.SERVERS)))
        skiff.up("box", "--egress-secret", "git")
        yield Hostile(skiff, origin)
