"""New kinds in the cluster: until the API server takes objects of them."""

import json
import time

SECONDS = 60


def are_established(kubectl):
    listed = json.loads(kubectl("get", "customresourcedefinitions", "-o", "json"))["items"]
    return all(any(condition["type"] == "Established" and condition["status"] == "True"
                   for condition in one.get("status", {}).get("conditions") or []) for one in listed)


def wait(kubectl):
    """Waits for all of them. `kubectl wait` ends at once where one has no conditions at all yet."""
    until = time.monotonic() + SECONDS
    while not are_established(kubectl):
        if time.monotonic() > until:
            raise TimeoutError(f"definitions are not established within {SECONDS} s")
        time.sleep(0.05)
