"""People's journeys through the view of a box's network: those of journeys/network.mjs."""

import os
import re

import pytest

from boxes import BoxSkiff, need_boxes
from consoles import Console
from test_journeys import HERE, browser, pytestmark  # noqa: F401

JOURNEYS = re.findall(r"^  async (\w+)\(", (HERE / "journeys/network.mjs").read_text(), re.M)


@pytest.fixture
def laptop(tmp_path):
    need_boxes(os.geteuid())
    one = BoxSkiff(tmp_path, os.geteuid())
    yield one
    one.finish()


@pytest.mark.parametrize("journey", JOURNEYS)
def test_journey(laptop, browser, journey):  # noqa: F811
    console = Console(laptop)
    try:
        failure = browser.walks(journey, link=console.link, command=laptop.command, environment=laptop.environment())
        assert failure is None, failure
    finally:
        console.stop()
