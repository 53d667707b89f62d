"""Other systems' clients with real Pods, as in test_clients.py, at a version before the newest."""

import pytest

from test_clients import (CLIENTS, kubebox_image, kubectl, pool, sdk, test_kubebox_with_its_own_manager,  # noqa: F401
                          test_the_sdk_of_agent_sandbox_from_inside_of_the_cluster, test_the_sdk_of_agent_sandbox_through_a_tunnel_of_kubectl,
                          test_the_sdk_of_agent_sandbox_through_its_router)


@pytest.fixture
def sdk_requirements():
    return CLIENTS / "sandboxd/middle.txt"


@pytest.fixture
def kubebox_requirements():
    return CLIENTS / "kubebox/kubebox_0_0_14.txt"
