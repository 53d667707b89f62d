"""The part of E2B's control API that its SDKs ask before they turn to the sandbox: one sandbox, which exists already."""

import http.server
import json
import threading
from datetime import datetime, timedelta, timezone


class FakeControl:
    def __init__(self, token):
        now = datetime.now(timezone.utc)
        self.known = {"templateID": "base", "sandboxID": "sandbox", "clientID": "client", "envdVersion": "0.6.13",
                      "envdAccessToken": token, "domain": None, "alias": "base"}
        self.detail = {**self.known, "startedAt": now.isoformat(), "endAt": (now + timedelta(hours=1)).isoformat(), "state": "running",
                       "cpuCount": 1, "memoryMB": 512, "diskSizeMB": 512, "metadata": {}}
        control = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, status, body=None):
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                data = b"" if body is None else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_POST(self):
                if self.path.endswith("/sandboxes"):
                    self.answer(201, control.known)
                elif self.path.endswith("/connect"):
                    self.answer(200, control.known)
                else:
                    self.answer(204)

            def do_GET(self):
                self.answer(200, [control.detail] if self.path.startswith("/v2/sandboxes") else control.detail)

            def do_DELETE(self):
                self.answer(204)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
