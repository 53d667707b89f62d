"""deploy/serve as it stands, on a real node: two replicas with the roles of `skiff rbac serve` and no others, at the Pod Security
level `restricted`. A sandbox is made, used and removed through the Service by somebody who has a key and nothing else."""

import json
import re
import subprocess

import pytest

import deployed as deployments
from deployed import HOME, TENANT
from families import in_url, lie_in
from skiff import Skiff
from waiting import until


@pytest.fixture(scope="module")
def deployed(cluster):
    with deployments.deployed(cluster) as one:
        yield one


@pytest.fixture
def operator(deployed, tmp_path):
    """A user who may do everything in the cluster."""
    client = Skiff(tmp_path, deployed.home)
    yield client
    # Not what others have made in the namespace of the tenant.
    for name in client("key", "ls", "-o", "name")[0].split():
        client("key", "rm", name)


@pytest.fixture
def key(operator):
    return operator("key", "create", "me", "--tenant", TENANT)[0].strip()


def test_a_sandbox_is_made_used_and_removed_through_the_service(deployed, key):
    made = json.loads(deployed.curl("POST", "/v1/sandboxes", key, json.dumps({"ttl_ms": 600_000}), status=201))
    assert made["state"] == "running"
    [pod] = deployed.tenant.items("pods")
    assert pod["metadata"]["labels"]["skiff.dev/owner"] == TENANT and not deployed.home.names("configmaps").count(f"skiff-{made['id']}")
    said = deployed.curl("POST", f"/s/{made['id']}/7070/v1/run", key, "echo hello from $((6 * 7))", "application/octet-stream")
    assert said == "hello from 42\n"
    listed = json.loads(deployed.curl("GET", "/v1/sandboxes", key))["items"]
    assert [one["id"] for one in listed] == [made["id"]]
    deployed.curl("DELETE", f"/v1/sandboxes/{made['id']}", key, status=204)
    until(lambda: deployed.tenant.of_skiff() == [], what="nothing of it", every=0.1)
    assert "cannot" not in deployed.logs()


def test_a_sandbox_that_would_lose_its_files_is_not_stopped_and_its_lease_is_extended(deployed, key):
    made = json.loads(deployed.curl("POST", "/v1/sandboxes", key, json.dumps({"ttl_ms": 600_000}), status=201))
    path = f"/v1/sandboxes/{made['id']}"
    assert "volume" in json.loads(deployed.curl("POST", f"{path}/stop", key, status=501))["detail"]
    assert json.loads(deployed.curl("POST", f"{path}/start", key))["state"] == "running"
    longer = json.loads(deployed.curl("POST", f"{path}/extend", key, json.dumps({"ttl_ms": 3_600_000})))
    assert longer["expires_at"] > made["expires_at"]
    deployed.curl("DELETE", path, key, status=204)
    assert "cannot" not in deployed.logs()


def test_its_service_has_an_address_of_each_family_of_the_cluster(deployed):
    assert lie_in(deployed.addresses, [family.services for family in deployed.cluster.families]), deployed.addresses
    for address in deployed.addresses:
        until(lambda address=address: deployed.is_reached(address), 30, address, every=0.1)


def test_doctor_finds_nothing_wrong_from_a_replica(deployed, key):
    # From a Pod: the addresses of services lead back to Pods on real nodes alone (../cluster/surroundings.py).
    url = f"http://{in_url(deployed.pods()[0]['status']['podIP'])}:7080"
    found = deployed.doctor("--url", url)
    assert set(found) == {"API server", "clock", "API keys", f"tenant {TENANT}", f"server at {url}"}
    assert all(check["passed"] for check in found.values()), found


def test_doctors_advice_about_another_tenant_helps(deployed, operator, make_namespace, key):
    other = make_namespace()
    operator("key", "create", "other", "--tenant", other.name)

    def about_it():
        return deployed.doctor()[f"tenant {other.name}"]

    missing = about_it()
    assert not missing["passed"] and "create pods" in missing["detail"]
    advised = re.search(r"`skiff (rbac .*?) \| kubectl apply -f -`", missing["remedy"]).group(1)
    deployed.cluster.kubectl("apply", "-f", "-", input=operator(*advised.split())[0])
    until(lambda: about_it()["passed"], what="the rights", every=0.1)


def test_a_replica_has_no_other_rights(deployed):
    user = f"system:serviceaccount:{HOME}:skiff-serve"
    for where, *right in [(HOME, "list", "secrets"), (HOME, "get", "secrets/skiff-signing-key"), (HOME, "create", "pods"),
                          (TENANT, "list", "secrets"), (TENANT, "get", "secrets/other"), (TENANT, "create", "pods", "--subresource=exec"),
                          ("default", "create", "pods"), ("default", "get", "secrets/skiff-api-keys")]:
        done = subprocess.run(deployed.cluster.command("auth", "can-i", *right, f"--namespace={where}", f"--as={user}"),
                              capture_output=True, text=True, timeout=60)
        assert done.stdout.strip() == "no", (where, right, done)
