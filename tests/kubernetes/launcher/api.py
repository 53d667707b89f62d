"""A small client of the API server: kubectl takes a third of a second to start, and is asked hundreds of times."""

import concurrent.futures
import http.client
import json
import ssl
import threading
import urllib.parse
from dataclasses import dataclass

from waiting import until

AT_ONCE = 8
# How a connection that was kept shows that the server has ended it.
ENDED = (ConnectionError, ssl.SSLError, http.client.HTTPException)
DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
# Kubernetes derives these from others with their labels, and removes them in its own time.
DERIVED = ("events", "endpoints", "endpointslices")


class Refused(Exception):
    """The API server's own words; `status` is that of HTTP."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


@dataclass(frozen=True)
class Kind:
    group: str
    version: str
    name: str  # Pod
    plural: str
    other_names: tuple  # the singular and the short ones
    namespaced: bool
    listed: bool

    def names(self):
        return {self.plural, *self.other_names, f"{self.plural}.{self.group}"}

    def path(self, namespace=None, name=None):
        top = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        within = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return f"{top}{within}/{self.plural}" + (f"/{name}" if name else "")


def kinds_of(discovered):
    """Each as the preferred version of its group has it."""
    for group in discovered["items"]:
        seen = set()
        for version in group["versions"]:
            for one in version.get("resources", []):
                if one["resource"] not in seen:
                    seen.add(one["resource"])
                    yield Kind(group["metadata"].get("name", ""), version["version"], one["responseKind"]["kind"], one["resource"],
                               (one.get("singularResource", ""), *one.get("shortNames", [])), one["scope"] == "Namespaced", "list" in one["verbs"])


class Api:
    """A client of the API server with all rights. Each thread keeps a connection: to make one takes longer than most requests."""

    def __init__(self, server, trust):
        self.server, self.trust = server, trust
        self.known = []
        self.thread = threading.local()
        self.pool = concurrent.futures.ThreadPoolExecutor(AT_ONCE)

    def _exchange(self, method, path, data, headers):
        kept = getattr(self.thread, "connection", None)
        connection = kept or http.client.HTTPSConnection(urllib.parse.urlsplit(self.server).netloc, timeout=60, context=self.trust)
        self.thread.connection = None
        try:
            connection.request(method, path, data, headers)
            reply = connection.getresponse()
            text = reply.read()
        except BaseException as error:
            connection.close()
            if kept and isinstance(error, ENDED):
                return self._exchange(method, path, data, headers)
            raise
        self.thread.connection = connection
        return reply.status, text

    def request(self, method, path, body=None, accept="application/json", content="application/json"):
        data = None if body is None else json.dumps(body).encode()
        status, text = self._exchange(method, path, data, {"Accept": accept, "Content-Type": content})
        if status >= 400:
            raise Refused(status, text.decode(errors="replace"))
        return json.loads(text)

    def kinds(self):
        """All that the server knew when it was last asked for one that was new."""
        if not self.known:
            self.known = [kind for top in ("/api", "/apis") for kind in kinds_of(self.request("GET", top, accept=DISCOVERY))]
        return self.known

    def kind(self, matches, what):
        """The first that matches: one that was defined just now takes a moment."""

        def found():
            for kind in self.kinds():
                if matches(kind):
                    return kind
            self.known = []
            return None

        return until(found, what=f"that the server knows {what}")

    def named(self, name):
        """Finds a kind by any name that kubectl takes: po, pod, pods, sandboxes.agents.x-k8s.io."""
        return self.kind(lambda kind: name.lower() in kind.names(), name)

    def get(self, name, one=None, namespace=None):
        return self.request("GET", self.named(name).path(namespace, one))

    def find(self, name, one, namespace=None):
        """None when it is not there."""
        try:
            return self.get(name, one, namespace)
        except Refused as refused:
            if refused.status != 404:
                raise
            return None

    def kind_of(self, thing):
        group, _, version = thing["apiVersion"].rpartition("/")
        return self.kind(lambda one: (one.group, one.version, one.name) == (group, version, thing["kind"]), thing["kind"])

    def create(self, thing):
        return self.request("POST", self.kind_of(thing).path(thing["metadata"].get("namespace")), thing)

    def apply(self, thing, namespace):
        """Applies an object in that namespace, unless it names another one or belongs to none."""
        metadata = thing["metadata"]
        path = self.kind_of(thing).path(metadata.get("namespace", namespace), metadata["name"])
        return self.request("PATCH", f"{path}?fieldManager=test&force=true", thing, content="application/apply-patch+yaml")

    def patch(self, name, one, change, namespace=None):
        return self.request("PATCH", self.named(name).path(namespace, one), change, content="application/merge-patch+json")

    def delete(self, name, one, namespace=None):
        """Begins it; what belongs to it goes by and by."""
        return self.request("DELETE", self.named(name).path(namespace, one), {"propagationPolicy": "Background"})

    def labelled(self, label, namespace=None):
        """(kind, object) of everything in that namespace, or in all, that has the label, whatever it is. A list waits until
        the server has seen the latest write, so they are asked for together."""

        def answered(kind):
            try:
                return self.request("GET", f"{kind.path(namespace)}?labelSelector={label}")
            except Refused as refused:
                if refused.status == 404:  # a test's own kind, which is not served any more
                    return {"items": []}
                if refused.status == 429:  # one that nobody has asked for yet: its store is being made
                    return None
                raise

        def listed(kind):
            return [(kind, one) for one in until(lambda: answered(kind), what=kind.plural, every=0.1)["items"]]

        kinds = [kind for kind in self.kinds() if kind.namespaced and kind.listed and kind.plural not in DERIVED]
        return [found for several in self.pool.map(listed, kinds) for found in several]
