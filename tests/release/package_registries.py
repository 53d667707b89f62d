"""The registry that `npm` asks for packages, of files in a directory."""

import base64
import hashlib
import http.server
import json
import tarfile
import threading


class NpmRegistry:
    """Serves the npm packages in `directory` at `url`, each at the version that its file has."""

    def __init__(self, directory):
        self.files = {}
        for path in directory.glob("skiff-sandbox*.tgz"):
            with tarfile.open(path) as archive:
                about = json.load(archive.extractfile("package/package.json"))
            self.files[about["name"]] = (path.read_bytes(), about)
        registry = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                name, _, file = self.path.lstrip("/").partition("/-/")
                known = registry.files.get(name)
                data = b"{}" if known is None else known[0] if file else json.dumps(registry.packument(name)).encode()
                self.send_response(200 if known else 404)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever).start()

    def packument(self, name):
        data, about = self.files[name]
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
        version = {**about, "dist": {"tarball": f"{self.url}/{name}/-/{name}.tgz", "integrity": integrity}}
        return {"name": name, "dist-tags": {"latest": about["version"]}, "versions": {about["version"]: version}}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
