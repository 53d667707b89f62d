"""The processes that make a machine a node: scheduler, containerd, kubelet and kube-proxy, and how they are set up."""

import json
import socket
import subprocess
import urllib.request

import control_plane
import families
import images
from part import Part, answers, without_verifying
from surroundings import NODE

CONTAINERD = "/run/containerd/containerd.sock"

# Without CAP_SYS_RESOURCE no process may lower its oom_score_adj: restrict_oom_score_adj.
CONTAINERD_CONFIG = """version = 2
[plugins."io.containerd.internal.v1.opt"]
  path = "{folder}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  tolerate_missing_hugetlb_controller = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
"""

def network(of_cluster):
    """A Pod has an address of each family."""
    addresses = {"type": "host-local", "ranges": [[{"subnet": family.pods}] for family in of_cluster],
                 "routes": [{"dst": family.everything} for family in of_cluster]}
    return {
        "cniVersion": "1.0.0", "name": "pods",
        "plugins": [
            {"type": "bridge", "bridge": "cni0", "isGateway": True, "hairpinMode": True, "ipam": addresses},
            {"type": "portmap", "capabilities": {"portMappings": True}},
        ],
    }


def all_addresses(of_cluster):
    """Returns the address that the parts of a node listen on. Their default is 0.0.0.0."""
    return "::" if families.IP6 in of_cluster else "0.0.0.0"


def kubelet_config(folder, cgroup, most_pods):
    pki = folder / "pki"
    return {
        "address": all_addresses(families.of(folder)),
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True}, "x509": {"clientCAFile": f"{pki}/ca.crt"}},
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": f"{pki}/kubelet-server.crt", "tlsPrivateKeyFile": f"{pki}/kubelet-server.key",
        "containerRuntimeEndpoint": f"unix://{CONTAINERD}", "cgroupDriver": "cgroupfs", "cgroupRoot": f"/{cgroup}",
        "failCgroupV1": False, "failSwapOn": False, "protectKernelDefaults": True, "resolvConf": f"{folder}/resolv.conf",
        "volumePluginDir": f"{folder}/plugins", "serializeImagePulls": False,
        # Low thresholds: others use the machine's disk too, and an evicted image can not be pulled again.
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1Gi", "imagefs.available": "1Gi"},
        "imageGCHighThresholdPercent": 100, "maxPods": most_pods,
    }


def proxy_config(folder):
    of_cluster = families.of(folder)
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration", "mode": "iptables",
        "clientConnection": {"kubeconfig": f"{folder}/kube-proxy.conf"}, "hostnameOverride": NODE,
        "clusterCIDR": ",".join(family.pods for family in of_cluster), "bindAddress": all_addresses(of_cluster),
        # The table's size belongs to the whole machine.
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
    }


def scheduler_config(folder):
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": f"{folder}/kube-scheduler.conf", "qps": 1000, "burst": 2000},
    }


def write_configs(folder, cgroup, most_pods):
    pki = folder / "pki"
    for name in ("admin", "kubelet", "kube-scheduler", "kube-proxy"):
        control_plane.write_kubeconfig(folder / f"{name}.conf", pki, families.server_url(folder), {name: control_plane.certificate_user(pki, name)})
    (folder / "containerd.toml").write_text(CONTAINERD_CONFIG.format(folder=folder, pause=images.PAUSE))
    (folder / "cni").mkdir()
    (folder / "cni/pods.conflist").write_text(json.dumps(network(families.of(folder))))
    for name, config in (("kubelet", kubelet_config(folder, cgroup, most_pods)), ("kube-proxy", proxy_config(folder)),
                         ("kube-scheduler", scheduler_config(folder))):
        (folder / f"{name}.json").write_text(json.dumps(config))


def control_plane_parts(folder, kube):
    of_cluster = families.of(folder)
    first = of_cluster[0]
    return control_plane.parts(folder, kube, folder / "pki", control_plane.Ports(), folder / "admin.conf", [
        f"--bind-address={first.bind}", f"--advertise-address={first.node}", "--enable-admission-plugins=NodeRestriction",
        "--enable-aggregator-routing", f"--kubelet-certificate-authority={folder}/pki/ca.crt",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local", *control_plane.audit_arguments(folder)], of_cluster)


def accepts(path):
    with socket.socket(socket.AF_UNIX) as one:
        return one.connect_ex(path) == 0


def is_ready(server, trust):
    """The node's own word for it, as the API server has it."""
    try:
        with urllib.request.urlopen(f"{server}/api/v1/nodes/{NODE}", timeout=2, context=trust) as reply:
            node = json.load(reply)
    except OSError:
        return False
    # The scheduler puts no Pod on a tainted node.
    return not node["spec"].get("taints") and any(
        condition["type"] == "Ready" and condition["status"] == "True" for condition in node["status"].get("conditions", []))


def containerd(folder):
    return Part(folder, "/usr/bin/containerd", ["--config", folder / "containerd.toml"], lambda: accepts(CONTAINERD))


def import_images(folder):
    for archive in sorted((folder / "images").glob("*.tar")):
        # As root of the mount namespace: the layers are unpacked when the first container needs them.
        subprocess.run(["ctr", "--namespace", "k8s.io", "images", "import", "--no-unpack", archive], stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, check=True)
        archive.unlink()


def parts(folder, kube):
    """The rest of a node; containerd and the control plane are there by then."""
    trust = control_plane.admin_trust(folder / "pki")
    itself = without_verifying()
    server = families.server_url(folder)
    addresses = ",".join(family.node for family in families.of(folder))
    return [
        Part(folder, kube, [f"--config={folder}/kube-scheduler.json", f"--cert-dir={folder}", "--bind-address=127.0.0.1"],
             lambda: answers("https://127.0.0.1:10259/healthz", itself), "kube-scheduler"),
        Part(folder, kube, [f"--config={folder}/kubelet.json", f"--kubeconfig={folder}/kubelet.conf", f"--node-ip={addresses}",
                            f"--hostname-override={NODE}", f"--cert-dir={folder}"],
             lambda: answers("http://127.0.0.1:10248/healthz") and is_ready(server, trust), "kubelet"),
        Part(folder, kube, [f"--config={folder}/kube-proxy.json"],
             lambda: answers("http://127.0.0.1:10256/healthz"), "kube-proxy"),
    ]
