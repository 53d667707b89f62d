"""Fixtures of the tests of skiff's commands; those of tests/integration are there too."""

import pytest


@pytest.fixture
def box(skiff):
    """The sandbox `box`, which runs."""
    skiff.up()
