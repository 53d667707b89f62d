"""Volumes for sandboxes with `--volume`: nothing here makes any by itself."""

import contextlib


@contextlib.contextmanager
def volume(namespace, sandbox):
    """One for the claim of the sandbox of that name; the directory that it is."""
    folder = namespace.cluster.folder / f"volume-{namespace.name}-{sandbox}"
    folder.mkdir()
    folder.chmod(0o777)
    claim = {"namespace": namespace.name, "name": f"skiff-{sandbox}-vol-0"}
    namespace.cluster.api.create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": folder.name}, "spec": {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": str(folder)}, "claimRef": claim}})
    try:
        yield folder
    finally:
        namespace.cluster.kubectl("delete", "persistentvolume", folder.name, "--wait=false")
