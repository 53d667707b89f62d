"""ServiceAccounts of a namespace, and the rights that they are given."""

import json

from namespace import LOOK_SECONDS
from waiting import until


def kubeconfig(namespace, account, folder):
    """A file by which one is that ServiceAccount."""
    config = json.loads(namespace.cluster.kubeconfig.read_text())
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    told = namespace.cluster.api.request("POST", f"/api/v1/namespaces/{namespace.name}/serviceaccounts/{account}/token", asked)
    config["users"] = [{"name": "account", "user": {"token": told["status"]["token"]}}]
    config["contexts"] = [{"name": "account", "context": {**config["contexts"][0]["context"], "user": "account"}}]
    config["current-context"] = "account"
    file = folder / f"{account}.conf"
    file.write_text(json.dumps(config))
    return str(file)


def await_rights(namespace, objects, user):
    """The authorizer reads roles from a cache, which is a moment behind."""
    [role] = [one for one in objects if one["kind"].endswith("Role")]
    rule = role["rules"][-1]
    resource, _, part = rule["resources"][0].partition("/")
    wanted = {"namespace": namespace.name, "verb": rule["verbs"][0], "group": rule["apiGroups"][0], "resource": resource,
              "subresource": part, "name": next(iter(rule.get("resourceNames", [])), "")}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
              "spec": {"user": user, "resourceAttributes": wanted}}
    ask = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    until(lambda: namespace.cluster.api.request("POST", ask, review)["status"]["allowed"], what="the Role", every=LOOK_SECONDS)
