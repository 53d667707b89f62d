"""A collector of traces on this machine: what OTLP/HTTP clients send, kept to be looked at."""

import contextlib
import http.server
import json
import threading


class Collector:
    def __init__(self):
        self.requests = []  # (path, headers, body as JSON)
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.requests.append((self.path, dict(self.headers), json.loads(body)))
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def spans(self):
        """All of them, each with the attributes of its resource as `resource`."""
        found = []
        for _, _, body in self.requests:
            for group in body["resourceSpans"]:
                for scope in group["scopeSpans"]:
                    found += [{**span, "resource": values(group["resource"])} for span in scope["spans"]]
        return found

    def span(self, name):
        [one] = [span for span in self.spans() if span["name"] == name]
        return one

    def children(self, parent):
        return [span for span in self.spans() if span.get("parentSpanId") == parent["spanId"]]


def values(holder):
    return {item["key"]: next(iter(item["value"].values())) for item in holder["attributes"]}


@contextlib.contextmanager
def collector():
    one = Collector()
    thread = threading.Thread(target=one.server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield one
    finally:
        one.server.shutdown()
        thread.join()
        one.server.server_close()
