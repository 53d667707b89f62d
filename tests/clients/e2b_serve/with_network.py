"""E2B's Python SDK, as PyPI has it, names what a sandbox may reach, and changes it while it runs, as Harbor does."""

import importlib.metadata

from e2b import ALL_TRAFFIC, Sandbox
from e2b.exceptions import SandboxException

ASK = "curl -s -o /dev/null -w '%{http_connect}' https://"


def answer(sandbox, host):
    """How the proxy answers: a name that may be reached is looked up, and nobody has these."""
    return sandbox.commands.run(f"{ASK}{host}/ || true").stdout


sandbox = Sandbox.create(timeout=120, network={"allow_out": ["one.invalid"], "deny_out": [ALL_TRAFFIC]})
assert (answer(sandbox, "one.invalid"), answer(sandbox, "two.invalid")) == ("502", "403")
sandbox.update_network({"allow_out": ["two.invalid"], "deny_out": [ALL_TRAFFIC]})
assert (answer(sandbox, "one.invalid"), answer(sandbox, "two.invalid")) == ("403", "502")
sandbox.update_network({"allow_internet_access": False})
assert answer(sandbox, "two.invalid") == "403"
sandbox.update_network({})
for refused in ({"allow_out": ["one.invalid"]}, {"allow_out": ["8.8.8.8"], "deny_out": [ALL_TRAFFIC]}):
    try:
        sandbox.update_network(refused)
        raise AssertionError(refused)
    except SandboxException:
        pass
sandbox.kill()
print("done with", importlib.metadata.version("e2b"))
