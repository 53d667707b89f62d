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


@contextlib.contextmanager
def disks(namespace, count):
    """So many for claims of up to 64Mi, whatever their names."""
    cluster, names = namespace.cluster, [f"{namespace.name}-{number}" for number in range(count)]
    for name in names:
        folder = cluster.folder / name
        folder.mkdir()
        folder.chmod(0o777)
        cluster.api.create({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {"capacity": {"storage": "64Mi"}, "accessModes": ["ReadWriteOnce"], "persistentVolumeReclaimPolicy": "Retain",
                     "hostPath": {"path": str(folder)}}})
    try:
        yield
    finally:
        for name in names:
            cluster.api.delete("persistentvolume", name)
