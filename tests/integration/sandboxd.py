"""Helpers that the tests of the dialect sandboxd share."""

import pytest

from dialect import Door
from grpc_client import Client


@pytest.fixture
def start_doors(start_agent):
    """(REST, gRPC) of an agent."""
    def start(*arguments, **options):
        agent = start_agent("--dialect", "sandboxd=127.0.0.1:0,127.0.0.1:0", *arguments, **options)
        return Door(agent), Door(agent)

    return start


@pytest.fixture
def doors(start_doors):
    return start_doors()


@pytest.fixture
def rest(doors):
    return doors[0]


@pytest.fixture
def client(doors):
    with Client(doors[1]) as client:
        yield client
