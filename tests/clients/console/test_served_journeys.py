"""People's journeys through the page of `skiff serve --console`, which they reach with an API key: those of journeys/keys.mjs."""

import re

import pytest

from signed_in import serve_console
from test_journeys import HERE, browser, pytestmark  # noqa: F401

JOURNEYS = re.findall(r"^  async (\w+)\(", (HERE / "journeys/keys.mjs").read_text(), re.M)


@pytest.mark.parametrize("journey", JOURNEYS)
def test_journey(serving, browser, journey):  # noqa: F811
    key, spare = serving.key(), serving.key("spare")
    server, replica = serve_console(serving), serve_console(serving)
    failure = browser.walks(journey, link=server.url, replica=replica.url, key=key, spare=spare, command=serving.skiff.command,
                            environment=serving.skiff.environment())
    assert failure is None, failure
