"""A registry on the node's loopback, from where containerd pulls without TLS, of one image that a name and a password are asked for.

As a program it serves: `registry.py USER PASSWORD`, and prints its port."""

import base64
import hashlib
import http.server
import json
import pathlib
import subprocess
import sys

CLUSTER = pathlib.Path(__file__).resolve().parents[1] / "cluster"
USER, PASSWORD = "puller", "secret"
NAME = "private"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def digest_of(data):
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def pieces():
    """(manifest, {digest: blob}) of busybox, as the OCI image specification has them."""
    sys.path.insert(0, str(CLUSTER))
    import images

    layer = images.shell().done()
    configuration = json.dumps({
        "architecture": "amd64", "os": "linux", "config": {"Cmd": ["sh"]}, "history": [{}],
        "rootfs": {"type": "layers", "diff_ids": [digest_of(layer)]}}).encode()
    described = [("application/vnd.oci.image.config.v1+json", configuration), ("application/vnd.oci.image.layer.v1.tar", layer)]
    config, only = ({"mediaType": kind, "digest": digest_of(data), "size": len(data)} for kind, data in described)
    manifest = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [only]}).encode()
    return manifest, {digest_of(data): data for _, data in described}


def serve(user, password):
    manifest, blobs = pieces()
    wanted = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self, status, data=b"", **fields):
            self.send_response(status)
            for name, value in fields.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def do_GET(self):
            what, last = self.path.split("/")[-2:]
            if self.headers["Authorization"] != wanted:
                self.answer(401, WWW_Authenticate='Basic realm="registry"')
            elif what == "manifests":
                self.answer(200, manifest, Content_Type=MANIFEST, Docker_Content_Digest=digest_of(manifest))
            elif what == "blobs" and last in blobs:
                self.answer(200, blobs[last], Content_Type="application/octet-stream")
            else:
                self.answer(200 if self.path == "/v2/" else 404)

        do_HEAD = do_GET

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


class Registry:
    """`image` is what the node pulls; `secret` says how, as a Secret of type kubernetes.io/dockerconfigjson."""

    def __init__(self, cluster):
        self.process = subprocess.Popen(
            cluster.in_its_network("/usr/bin/python3", "-B", __file__, USER, PASSWORD), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, text=True)
        self.host = f"127.0.0.1:{int(self.process.stdout.readline())}"
        self.image = f"{self.host}/{NAME}:1"

    def secret(self, name):
        known = {"auths": {self.host: {"username": USER, "password": PASSWORD}}}
        return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": "kubernetes.io/dockerconfigjson",
                "stringData": {".dockerconfigjson": json.dumps(known)}}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


if __name__ == "__main__":
    serve(*sys.argv[1:])
