"""`skiff rbac`, `skiff token` and `skiff key`: what they permit."""

import base64
import http.client
import json
import pathlib
import shutil
import subprocess

import yaml


# --- rbac ---

TREE = pathlib.Path(__file__).resolve().parents[3]


def rules(objects):
    [role] = [one for one in objects if one["kind"].endswith("Role")]
    return {(group, resource): set(rule["verbs"]) for rule in role["rules"]
            for group in rule["apiGroups"] for resource in rule["resources"]}


def test_a_role_is_yaml_for_kubectl(skiff):
    [role] = yaml.safe_load_all(skiff("rbac")[0])
    assert (role["kind"], role["metadata"]["name"], role["apiVersion"]) == ("Role", "skiff", "rbac.authorization.k8s.io/v1")
    everything = rules([role])
    [one] = yaml.safe_load_all(skiff("rbac", "ps")[0])
    assert rules([one]) == {("", "configmaps"): {"list"}, ("", "pods"): {"list"}}
    assert all(verbs <= everything[what] for what, verbs in rules([one]).items())
    assert skiff("rbac", "-o", "yaml")[0] == skiff("rbac")[0]


def test_rbac_prints_the_service_account_and_its_binding_with_the_role(skiff):
    objects = list(yaml.safe_load_all(skiff("rbac", "run", "exec", "--service-account", "bot", "--role-name", "runs")[0]))
    assert [one["kind"] for one in objects] == ["ServiceAccount", "Role", "RoleBinding"]
    assert objects[2]["roleRef"]["name"] == "runs" and objects[2]["subjects"][0]["name"] == "bot"
    assert json.loads(skiff("rbac", "ps", "-o", "json")[0])["kind"] == "List"
    assert skiff("rbac", "ps", "-o", "name")[0] == "Role/skiff\n"


def test_rbac_prints_a_cluster_role_for_commands_that_span_namespaces(skiff):
    [role] = yaml.safe_load_all(skiff("rbac", "gc", "-A")[0])
    assert role["kind"] == "ClusterRole" and "namespace" not in role["metadata"]
    [role] = yaml.safe_load_all(skiff("rbac", "up", "--namespace-per-sandbox")[0])
    assert role["kind"] == "ClusterRole" and rules([role])[("", "namespaces")] == {"create", "delete", "get", "list", "watch"}


def test_rbac_refuses_unknown_commands_and_completes_known_ones(skiff):
    assert 'no command "walk"' in skiff("rbac", "walk", status=125)[1]
    assert "nothing of a cluster" in skiff("rbac", "completion", status=125)[1]
    assert skiff("__complete", "--", "rbac", "ps", "ex")[0].split() == ["extend", "exec"]


def test_the_roles_of_the_deployment_are_those_of_the_table(skiff, tmp_path):
    copy = shutil.copytree(TREE / "deploy", tmp_path / "deploy")
    subprocess.run([copy / "generate", skiff.program], env=skiff.environment(), check=True, timeout=60)
    for name in ("deploy/base/user-role.yaml", "deploy/base/gc-rbac.yaml", "deploy/serve/rbac.yaml",
                 "deploy/helm/skiff-serve/files/rbac.yaml"):
        assert (TREE / name).read_text() == (tmp_path / name).read_text(), "run deploy/generate"


def test_rbac_lets_secrets_be_kept_in_the_namespace_of_the_proxy_alone(skiff):
    objects = json.loads(skiff("rbac", "secret", "exec", "-n", "team-a", "--service-account", "keeper", "-o", "json")[0])["items"]
    roles = {one["metadata"]["namespace"]: one["rules"] for one in objects if one["kind"] == "Role"}
    assert set(roles) == {"team-a", "team-a-egress"}
    assert roles["team-a-egress"] == [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["create", "delete", "get", "list", "patch"]}]
    [binding] = [one for one in objects if one["kind"] == "RoleBinding" and one["metadata"]["namespace"] == "team-a-egress"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "keeper", "namespace": "team-a"}]
    assert not [rule for rule in roles["team-a"] if rule["resources"] == ["secrets"] and "resourceNames" not in rule and "get" in rule["verbs"]]
    for flags in ((), ("-A",)):
        assert "name it by -n" in skiff("rbac", "secret", *flags, status=125)[1]


SERVER = ("rbac", "serve", "--service-account", "srv", "-n", "home", "-o", "json")


def by_place(skiff, *words):
    """{(kind, namespace): object} of what is printed for a server."""
    return {(one["kind"], one["metadata"]["namespace"]): one for one in json.loads(skiff(*SERVER, *words)[0])["items"]}


def test_a_server_has_its_keys_at_home_and_sandboxes_where_its_tenants_are(skiff):
    found = by_place(skiff, "--tenant", "a", "--tenant", "b", "--tenant", "a")
    assert sorted(found) == [("Role", "a"), ("Role", "b"), ("Role", "home"), ("RoleBinding", "a"), ("RoleBinding", "b"),
                             ("RoleBinding", "home"), ("ServiceAccount", "home")]
    assert rules([found["Role", "home"]]) == {("", "secrets"): {"get"}}
    assert found["Role", "home"]["rules"][0]["resourceNames"] == ["skiff-api-keys"]
    assert rules([found["Role", "a"]])[("", "pods")] == {"create", "delete", "get", "list", "patch", "watch"}
    for (kind, _), one in found.items():
        if kind == "RoleBinding":
            assert one["subjects"] == [{"kind": "ServiceAccount", "name": "srv", "namespace": "home"}]


def test_a_server_may_be_its_own_tenant(skiff):
    found = by_place(skiff, "--tenant", "home")
    assert sorted(found) == [("Role", "home"), ("RoleBinding", "home"), ("ServiceAccount", "home")]
    assert found == by_place(skiff)
    names = [rule.get("resourceNames") for rule in found["Role", "home"]["rules"] if rule["resources"] == ["secrets"]]
    assert ["skiff-api-keys"] in names and ["skiff-signing-key"] in names


def test_tenants_are_a_servers_whose_account_is_known(skiff):
    refused = lambda *words: skiff("rbac", *words, "--tenant", "a", status=125)[1]
    assert "works only with `skiff rbac serve`" in refused("gc", "--service-account", "bot", "-n", "home")
    assert "--service-account, --namespace" in refused("serve", "-n", "home")
    assert "--service-account, --namespace" in refused("serve", "--service-account", "srv")
    assert "omit --all-namespaces" in refused("serve", "--service-account", "srv", "-n", "home", "-A")


# --- token, key ---

def test_a_token_works_for_its_sandbox_alone(skiff):
    skiff.up("one")
    skiff.up("two")

    def status(port, token, method="GET", path="/v1/version"):
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        client.request(method, path, headers={"Authorization": f"Bearer {token}"})
        try:
            return client.getresponse().status
        finally:
            client.close()

    one, two = skiff.record("one")["port"], skiff.record("two")["port"]
    token = skiff("token", "one")[0].strip()
    assert status(one, token) == 200 and status(two, token) == 401
    reader = skiff("token", "one", "--scope", "read")[0].strip()
    assert status(one, reader) == 200 and status(one, reader, "DELETE", "/v1/files/x") == 403
    assert "scope" in skiff("token", "one", "--scope", "all", status=125)[1]
    # The default of the help, as it is written there.
    both = json.loads(base64.urlsafe_b64decode(skiff("token", "one", "--scope", "read,exec")[0].split(".")[1] + "=="))
    assert "default read,exec" in skiff("token", "--help")[0] and both["scope"] == "read exec"


def test_a_token_allows_no_more_than_was_asked_for(skiff):
    skiff.up("box")

    def status(token, path):
        client = http.client.HTTPConnection("127.0.0.1", skiff.record("box")["port"], timeout=30)
        client.request("POST", path, headers={"Authorization": f"Bearer {token}"})
        try:
            return client.getresponse().status
        finally:
            client.close()

    usual = skiff("token", "box")[0].strip()
    claims = json.loads(base64.urlsafe_b64decode(usual.split(".")[1] + "=="))
    assert claims["scope"] == "read exec" and status(usual, "/v1/lease") == 403
    assert status(skiff("token", "box", "--scope", "admin")[0].strip(), "/v1/lease") == 200


def test_the_key_of_local_sandboxes_is_not_rotated(skiff):
    skiff.up("box")
    assert "needs a cluster" in skiff("key", "rotate", status=125)[1]
