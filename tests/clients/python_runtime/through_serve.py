"""k8s-agent-sandbox, the newest, with a `skiff serve` where it expects its router: the key of it is one of the fields that the
SDK sends along for gateways that ask who comes."""

import contextlib
import os

import cases
from k8s_agent_sandbox import SandboxClient
from k8s_agent_sandbox.models import SandboxDirectConnectionConfig
from through_router import *  # noqa: F403


@contextlib.contextmanager
def sandbox():
    config = SandboxDirectConnectionConfig(api_url=cases.URL, server_port=cases.PORT, extra_headers={"X-API-Key": os.environ["SERVE_KEY"]})
    made = SandboxClient(connection_config=config).create_sandbox(warmpool="pool")
    try:
        yield made
    finally:
        made.terminate()


if __name__ == "__main__":
    cases.main(sandbox)
