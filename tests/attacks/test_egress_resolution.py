"""Attacks of those who own a name that a box may reach: the answers of their name server (hostile_names.py)."""

import os

import pytest

from boxes import skiff  # noqa: F401
from egressing import outside, through  # noqa: F401

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a laptop and an internet"),
              pytest.mark.parametrize("skiff", ["user"], indirect=True)]

BROKEN = ("none", "loop", "pointers", "ahead", "short", "long", "text", "junk", "cut", "refused", "another", "elsewhere")


@pytest.fixture
def box(skiff, outside):
    labels = ("turning", "alias", "outward", "many", *BROKEN)
    skiff.up("box", "--egress", "pypi.org", *(word for one in labels for word in ("--egress", f"{one}.hostile.example.com")))
    return skiff


def tried(box, *labels):
    return through(box, *({"to": f"{one}.hostile.example.com:443"} for one in labels))


def test_an_address_counts_and_no_alias(box, outside):
    alias, outward, many = tried(box, "alias", "outward", "many")
    assert alias["code"] == many["code"] == "private_address"
    assert outward["said"].startswith("outward.hostile.example.com 443")
    assert len(outside.seen()) == 1


def test_a_name_that_turns_inwards_is_judged_at_each_connection(box, outside):
    """Its address is looked up once for a connection, and the one that was judged is connected."""
    first, second, third = tried(box, "turning", "turning", "turning")
    assert first["said"].startswith("turning.hostile.example.com") and [second["code"], third["code"]] == ["private_address"] * 2
    assert len(outside.seen()) == 1


def test_answers_that_are_none_are_no_address(box, outside):
    found = tried(box, *BROKEN)
    assert {(one["status"], one.get("code")) for one in found} == {(502, "dns")}, list(zip(BROKEN, found))
    assert outside.seen() == []
    assert through(box, {"to": "pypi.org:443"})[0]["status"] == 200
