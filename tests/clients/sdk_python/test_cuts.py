"""Connections of the Python SDK that are cut at random: ten seconds in the gate, ten minutes at night."""

import urllib.parse

import pytest
from client_fixtures import check
from random_cuts import SECONDS, RandomCuts, chosen_seed


@pytest.mark.parametrize("host, faces", [("agent", "asynchronous"), ("server", "synchronous")], indirect=["host"])
def test_nothing_is_lost_or_done_twice(outcome, host, faces):
    seed, address = chosen_seed(), urllib.parse.urlsplit(host["SKIFF_URL"])
    with RandomCuts((address.hostname, address.port), seed) as proxy:
        behind = {**host, "SKIFF_URL": proxy.url, "DIRECT_URL": host["SKIFF_URL"], "SEED": str(seed), "SECONDS": str(SECONDS)}
        told = outcome("cut_cases.py", behind, faces, seconds=SECONDS + 300)
    print(f"seed {seed}: {proxy.cuts} cuts in {SECONDS} s")
    check(told, 1)
    assert proxy.cuts > 0
