"""Work in a sandbox of a cluster, through the API server's port-forward."""

import json

from container_uses import (test_streams_and_the_exit_status_are_the_commands,  # noqa: F401
                            test_output_comes_as_it_is_written, test_much_comes_and_goes_whole,
                            test_an_interrupt_is_passed_on, test_a_shell_has_a_terminal_of_the_right_size,
                            test_files_and_directories_are_copied_either_way,
                            test_paths_from_the_root_of_the_container_are_those_of_docker_and_kubectl,
                            test_background_commands_are_found_again, test_ports_are_forwarded,
                            test_a_name_is_taken_once)
from families import in_url
from skiff import AGENT


# orbiter's KubernetesSandbox: describe
def test_describe_shows_the_pod_of_a_sandbox(shared):
    described = shared.json("describe", "box")
    assert (described["state"], described["driver"], described["image"]) == ("running", "pod", "skiff.test/busybox:1")
    assert described["details"]["namespace"] == shared.namespace.name and described["details"]["pod"] == "skiff-box"
    assert described["details"]["service"] == "skiff-box-svc"
    assert described["details"]["cluster_ip"] == shared.namespace.get("service", "skiff-box-svc")["spec"]["clusterIP"]
    assert described["agent"]["sandbox_id"] == described["id"]
    assert {"type": "Ready", "status": "True"}.items() <= {one["type"]: one for one in described["conditions"]}["Ready"].items()
    assert {one["name"] for one in described["containers"]} == {"skiff", "sandbox"} and described["volumes"]
    assert any(one["reason"] == "Scheduled" for one in described["events"]) and "events_error" not in described
    page = shared("describe", "box")[0]
    assert all(f"\n{heading}:\n" in page for heading in ("containers", "volumes", "conditions", "events")), page
    assert shared.json("doctor")["passed"] is True


def test_it_is_listed_with_its_node_and_in_all_namespaces(shared):
    heads, *rows = shared("ps", "-A", "-o", "wide")[0].splitlines()
    assert heads.startswith("NAMESPACE") and any(row.split()[:2] == [shared.namespace.name, "box"] for row in rows)
    (item,) = [item for item in shared.json("ps", "-A")["items"] if (item["namespace"], item["name"]) == (shared.namespace.name, "box")]
    assert item["details"]["node"] and item["details"]["node"] in "\n".join(rows)


def test_the_log_of_its_container_is_shown(shared):
    assert "skiffd listening" in shared("logs", "box", "--agent")[0]
    assert shared("logs", "box", "--agent", "--tail", "1")[0].count("\n") <= 1


def test_the_pod_contains_no_credentials(shared):
    pod = shared.pod()
    spec = pod["spec"]
    assert (spec["automountServiceAccountToken"], spec["enableServiceLinks"], spec["restartPolicy"]) == (False, False, "Never")
    container = spec["containers"][0]
    assert {"cpu", "memory", "ephemeral-storage"} == set(container["resources"]["requests"]) == set(container["resources"]["limits"])
    assert "PRIVATE" not in json.dumps(pod)
    assert shared.namespace.names("secrets") == ["skiff-signing-key"]
    assert "secret" not in json.dumps(spec).lower()
    shared("exec", "box", "--", "test", "!", "-e", "/var/run/secrets")


def status_at(skiff, address, *headers):
    """That of the agent's answer, as it is seen from inside of the cluster."""
    return skiff.cluster.inside("curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}", *headers, "--retry", "50",
                                "--retry-delay", "1", "--retry-connrefused", f"http://{in_url(address)}:7070/v1/version")


def test_the_services_address_answers_who_has_a_token(shared):
    token = shared("token", "box")[0].strip()
    address = shared.namespace.get("service", "skiff-box-svc")["spec"]["clusterIP"]
    assert status_at(shared, address, "--header", f"Authorization: Bearer {token}") == "200"
    assert status_at(shared, address) == "401"


def test_an_image_that_carries_skiffd_needs_no_injection_and_no_token_is_for_two(shared):
    shared.up("other", "--image", AGENT, "--no-inject")
    assert not shared.pod("other")["spec"].get("initContainers")
    assert "skiffd" in shared("exec", "other", "--", "/skiffd", "version")[0]
    token = shared("token", "box")[0].strip()

    def status(pod):
        return status_at(shared, shared.namespace.get("pod", pod)["status"]["podIP"], "--header", f"Authorization: Bearer {token}")

    assert (status("skiff-box"), status("skiff-other")) == ("200", "401")
    shared("rm", "other")
