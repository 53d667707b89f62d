"""The proxy before `skiff serve` in a cluster: Traefik as a controller of Ingresses and Gateways, in a Pod, with the roles that it
publishes. It reads Ingresses of the class `nginx` with ingress-nginx's annotations, those of the class `traefik` as they are,
and Gateways of the class `traefik`."""

import http.client
import pathlib
import socket
import ssl
import subprocess
import sys

import yaml

import build
import certificates
import definitions
import images
from namespace import Namespace
from serving import Answer
from sockets import Ws
from waiting import until

NAME = HOME = "traefik"
IMAGE = "skiff.test/traefik:1"
PORT = 443
ROLES = {"kubernetes-ingress-nginx-rbac.yml": "traefik-ingress-nginx-controller", "kubernetes-crd-rbac.yml": "traefik-ingress-controller",
         "kubernetes-gateway-rbac.yml": "gateway-role"}
CLASSES = [
    {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "nginx"}, "spec": {"controller": "k8s.io/ingress-nginx"}},
    {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "traefik"},
     "spec": {"controller": "traefik.io/ingress-controller"}},
    {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass", "metadata": {"name": "traefik"},
     "spec": {"controllerName": "traefik.io/gateway-controller"}}]
ARGUMENTS = ["--entrypoints.web.address=:80", f"--entrypoints.websecure.address=:{PORT}", "--entrypoints.websecure.http.tls=true", "--ping=true",
             "--providers.kubernetesingressnginx.httpentrypoint=web", "--providers.kubernetesingressnginx.httpsentrypoint=websecure",
             "--providers.kubernetesingress.ingressclass=traefik", "--providers.kubernetesgateway=true", "--global.checknewversion=false"]
RELAY = pathlib.Path(build.__file__).with_name("relay.py")


def objects():
    """The objects of Traefik: its account with the roles, and the Pod."""
    account = {"kind": "ServiceAccount", "name": NAME, "namespace": HOME}
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}}
    yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": NAME, "namespace": HOME}}
    for file, role in ROLES.items():
        yield next(one for one in yaml.safe_load_all((build.traefik() / "roles" / file).read_text()) if one["kind"] == "ClusterRole")
        yield {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": role}, "subjects": [account],
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}}
    yield from CLASSES
    yield {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": NAME, "namespace": HOME},
           "spec": {"serviceAccountName": NAME, "terminationGracePeriodSeconds": 1, "containers": [
               {"name": NAME, "image": IMAGE, "args": ARGUMENTS, "readinessProbe": {"httpGet": {"path": "/ping", "port": 8080}, "periodSeconds": 1}}]}}


class Front:
    """Requests to it come from this machine, by HTTPS and for any host; `authority` is whom they trust."""

    def __init__(self, cluster):
        self.cluster, self.home = cluster, Namespace(cluster, HOME)
        # All kinds, as their publisher says.
        cluster.kubectl("apply", "--server-side", "-f", build.traefik() / "gateway-api")
        definitions.wait(cluster.kubectl)
        cluster.load(IMAGE, images.Layer().file("traefik", (build.traefik() / "traefik").read_bytes(), 0o755).done(), {"Entrypoint": ["/traefik"]})
        cluster.kubectl("apply", "--server-side", "-f", "-", input=yaml.safe_dump_all(objects()))
        self.home.wait(f"pod/{NAME}", "condition=Ready")
        self.address = self.home.get("pod", NAME)["status"]["podIP"]
        self.authority = cluster.folder / "pki/ca.crt"
        self.trust = ssl.create_default_context(cafile=self.authority)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.relay = subprocess.Popen(
            [sys.executable, "-B", RELAY, str(self.listener.fileno()), f"/proc/{cluster.pid}/ns/net", self.address, str(PORT)],
            stdin=subprocess.DEVNULL, pass_fds=[self.listener.fileno()])

    def certificate(self, namespace, name, *hosts):
        """Puts one for these hosts into a Secret of that name."""
        pki = self.cluster.folder / "pki"
        certificates.sign(pki, "front", f"/CN={hosts[0]}", "serverAuth", ",".join(f"DNS:{host}" for host in hosts))
        secret = namespace.kubectl("create", "secret", "tls", name, f"--cert={pki}/front.crt", f"--key={pki}/front.key", "--dry-run=client", "-o", "yaml")
        namespace.kubectl("apply", "-f", "-", input=secret)

    def connect(self, host):
        return self.trust.wrap_socket(socket.create_connection(self.listener.getsockname(), timeout=60), server_hostname=host)

    def open(self, host, method, path, body=None, key=None, headers=None):
        """The connection, and the head of the answer."""
        connection = http.client.HTTPConnection(host, timeout=60)
        connection.sock = self.connect(host)
        connection.request(method, path, body, {**({"X-API-Key": key} if key else {}), **(headers or {})})
        return connection, connection.getresponse()

    def request(self, *asked, **more):
        connection, response = self.open(*asked, **more)
        try:
            return Answer(response)
        finally:
            connection.close()

    def is_known(self, host):
        """Whether something but its own certificate and its own 404 is there."""
        try:
            answer = self.request(host, "GET", "/")
        except ssl.SSLCertVerificationError:
            return False
        return answer.headers.get("Content-Type") == "application/problem+json"

    def websocket(self, host, path, key):
        plain = socket.create_connection(self.listener.getsockname(), timeout=60)
        return Ws(f"wss://{host}{path}", [], {"X-API-Key": key}, sock=plain, ssl=self.trust)

    def logs(self):
        return self.home.kubectl("logs", NAME)[-4000:]

    def __enter__(self):
        until(self.is_up, 60, "its answer", every=0.1)
        return self

    def is_up(self):
        assert self.relay.poll() is None
        try:
            self.is_known("localhost")
            return True
        except OSError:
            return False

    def __exit__(self, *_):
        self.relay.kill()
        self.relay.wait()
        self.listener.close()
        self.cluster.kubectl("delete", "namespace", HOME, "--wait=false")
