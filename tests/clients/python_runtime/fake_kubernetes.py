"""The part of a Kubernetes API that the SDKs of agent-sandbox need to claim a sandbox: each claim is ready at once, under its
own name. A real cluster is not part of this suite: what the packages say to the runtime is, and that goes to a real skiffd."""

import http.server
import json
import re
import threading
import urllib.parse

PATH = re.compile(r"/apis/(?P<group>[^/]+)/(?P<version>[^/]+)/namespaces/(?P<namespace>[^/]+)/(?P<kind>[a-z]+)(/(?P<name>[^/]+))?$")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, document):
        body = json.dumps(document).encode() + b"\n"
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def object(self, place, name):
        ready = {"type": "Ready", "status": "True", "reason": "DependenciesReady", "message": "ready",
                 "lastTransitionTime": "2026-01-01T00:00:00Z"}
        kind = "SandboxClaim" if place["kind"] == "sandboxclaims" else "Sandbox"
        ips = [self.server.pod_ip] if self.server.pod_ip else []
        return {"apiVersion": f"{place['group']}/{place['version']}", "kind": kind,
                "metadata": {"name": name, "namespace": place["namespace"], "uid": f"uid-{name}", "resourceVersion": "1"},
                "spec": {},
                "status": {"conditions": [ready], "sandbox": {"name": self.server.sandbox or name, "podIPs": ips}, "podIPs": ips}}

    def place(self):
        url = urllib.parse.urlsplit(self.path)
        match = PATH.match(url.path)
        return (match.groupdict() if match else None), urllib.parse.parse_qs(url.query)

    def do_POST(self):
        place, _ = self.place()
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = body["metadata"].get("name") or body["metadata"]["generateName"] + "x1"
        self.server.names.add(name)
        self.answer(201, self.object(place, name))

    def do_GET(self):
        place, query = self.place()
        if place is None:
            self.answer(404, {"kind": "Status", "code": 404})
            return
        if place["name"]:
            found = place["name"] in self.server.names
            self.answer(200 if found else 404, self.object(place, place["name"]) if found else {"kind": "Status", "code": 404})
            return
        selected = query.get("fieldSelector", [""])[0].partition("metadata.name=")[2]
        items = [self.object(place, name) for name in sorted(self.server.names) if selected in ("", name)]
        if "watch" not in query:
            kind = "SandboxClaimList" if place["kind"] == "sandboxclaims" else "SandboxList"
            self.answer(200, {"apiVersion": f"{place['group']}/{place['version']}", "kind": kind,
                              "metadata": {"resourceVersion": "1"}, "items": items})
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Connection", "close")
        self.end_headers()
        for item in items:
            self.wfile.write(json.dumps({"type": "ADDED", "object": item}).encode() + b"\n")
        self.close_connection = True

    def do_DELETE(self):
        place, _ = self.place()
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.names.discard(place["name"])
        self.answer(200, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"})


class FakeKubernetes:
    """Without a `pod_ip` no object has one, and clients find sandboxes by name. With a `sandbox` each claim gets that one."""

    def __init__(self, folder, pod_ip="10.0.0.9", sandbox=""):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.names = {sandbox} if sandbox else set()
        self.server.pod_ip, self.server.sandbox = pod_ip, sandbox
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "fake",
            "clusters": [{"name": "fake", "cluster": {"server": f"http://127.0.0.1:{self.server.server_port}"}}],
            "users": [{"name": "fake", "user": {"token": "none"}}],
            "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "fake"}}]}))

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
