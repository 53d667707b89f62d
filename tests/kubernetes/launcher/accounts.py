"""ServiceAccounts of a namespace, and the rights that they are given."""

import json
import subprocess

from waiting import until


def kubeconfig(namespace, account, folder):
    """A file by which one is that ServiceAccount."""
    config = json.loads(namespace.cluster.kubeconfig.read_text())
    config["users"] = [{"name": "account", "user": {"token": namespace.kubectl("create", "token", account).strip()}}]
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
    resource = "/".join([resource, *rule.get("resourceNames", [])])
    ask = ["auth", "can-i", rule["verbs"][0], resource, f"--as={user}", *([f"--subresource={part}"] if part else [])]
    until(lambda: subprocess.run(namespace.cluster.command(f"--namespace={namespace.name}", *ask), stdin=subprocess.DEVNULL,
                                 capture_output=True).returncode == 0, what="the Role")
