"""The rooms of the product, and what each of them may use: ARROWS is the plan that docs/map.md draws.

A file's room is its directory, or the next one above it that has a row here; `X/*` is a row for each directory in X that has none.
A room may use itself, the layers that its layer may use, and of its own layer the rooms in its row."""

import re

# Layers: what stands to the left of a layer, it may use.
LAYERS = {
    "base": (),
    "protocol": ("base",),
    "fs": ("base",),
    "sessions": ("base", "fs"),
    "runtime": ("base", "protocol", "fs", "sessions"),
    "container": ("base", "protocol"),
}
ALL = "all of its layer"

# Room -> (the rooms of its layer that it may use, what is in it). The top of a layer is the layer's own row.
ARROWS = {
    "base": ((), "errors, tasks, events, pools, channels, the settings engine, the log"),

    "protocol": ((), ""),
    "protocol/net": ((), "addresses, listeners, who may be connected, byte streams, TLS"),
    "protocol/json": ((), "JSON text, schemas, UTF-8, base64; problem documents, OpenAPI, server-sent events"),
    "protocol/http": (("protocol/net",), "HTTP/1.1 from the head of a message to the server, and the client"),
    "protocol/http2": (("protocol/net", "protocol/http"), "HTTP/2, the server"),
    "protocol/grpc": (("protocol/net", "protocol/http", "protocol/http2", "protocol/json"), "gRPC calls on HTTP/2"),
    "protocol/websocket": (("protocol/net", "protocol/http", "protocol/json"), "WebSocket: handshake, frames, socket"),
    "protocol/service": (("protocol/net", "protocol/http", "protocol/json"), "a request's way through a route table: routes, router, dispatcher, request metrics"),
    "protocol/socket_io": (("protocol/json",), "Socket.IO: the packets in a WebSocket's frames"),

    "fs": ((), ""),
    "fs/path": ((), "a path becomes a descriptor, below a root and nowhere else; locks of names"),
    "fs/content": (("fs/path",), "reading, writing, appending, editing one file; what is known of an entry"),
    "fs/tree": (("fs/path", "fs/content"), "listing, copying, moving and removing trees; batches of operations"),
    "fs/search": (("fs/path",), "walking a tree, ignore files, globs, grep"),
    "fs/archive": (("fs/path",), "tar archives and their compression"),
    "fs/watch": (("fs/path",), "what changes in directories, for any number of readers"),

    "sessions": ((ALL,), "commands and sessions: their start, ids that run once, life, end and retention; conditions to wait for"),
    "sessions/process": ((), "starting a process, its tag, tree, user, limits, terminal, cgroup and end"),
    "sessions/output": ((), "the log of a command: what is kept (store, spool), its readers (cursors) and the gaps that they are told, fairness among them"),
    "sessions/shell": (("sessions/process",), "the stateful shell: its script, and the state between two commands"),
    "sessions/host": (("sessions/process",), "the container: memory guard, statistics, listening ports"),

    "runtime": ((ALL,), "skiffd: main, serving and the drain at its end, settings, leases, the workload beside it, installing itself, signals, self-defence, health, metrics"),
    "runtime/auth": ((), "credentials, tokens, scopes, browser guard, audit log"),
    "runtime/reader": ((), "reading the log of a command for a client: its turn, its deadlines, the watch on the client; why a command did not start, and its exit code"),
    "runtime/api": (("runtime", "runtime/auth", "runtime/reader", "runtime/api/*"), "the route table, a request's way through it, what handlers share"),
    "runtime/api/agent": (("runtime", "runtime/auth", "runtime/api", "runtime/api/commands"), "routes about the agent: health, version, telemetry, late binding"),
    "runtime/api/commands": (("runtime", "runtime/auth", "runtime/reader", "runtime/api"), "routes of commands: start, output, input, signals, /v1/run"),
    "runtime/api/sessions": (("runtime", "runtime/auth", "runtime/api", "runtime/api/commands"), "routes of sessions, and the wait for a condition"),
    "runtime/api/sockets": (("runtime", "runtime/auth", "runtime/reader", "runtime/api", "runtime/api/commands"), "WebSocket routes: messages and channels"),
    "runtime/api/files": (("runtime", "runtime/auth", "runtime/api", "runtime/api/sockets"), "routes of files, archives, searches and watches"),
    "runtime/api/ports": (("runtime", "runtime/auth", "runtime/api", "runtime/api/sockets"), "requests and connections that are passed on to servers on ports of the sandbox"),
    "runtime/api/openapi": (("runtime/auth", "runtime/api", "runtime/api/*"), "what the OpenAPI document says of each route and event"),
    "runtime/dialects": (("runtime", "runtime/auth", "runtime/api", "runtime/api/*", "runtime/dialects/*"), "the table of the dialects, and what they have in common"),
    "runtime/dialects/*": (("runtime", "runtime/auth", "runtime/reader", "runtime/api", "runtime/api/*", "runtime/dialects"), "a protocol of other clients, translated to sessions, commands and files"),
    "runtime/link": ((), "what makes the static binary small and whole"),

    "container": ((ALL,), "skiff: main"),
    "container/process": ((), "starting a program on this machine"),
    "container/kube": (("container/process",), "the Kubernetes client: kubeconfig and credentials (`kube/auth`), requests, objects, watches"),
    "container/trace": (("container/kube",), "OpenTelemetry traces"),
    "container/agent": (("container/trace",), "the client of skiffd: requests, command streams, copying, tokens"),
    "container/sandbox": (("container/agent", "container/trace"), "the nouns and the driver's interface; what works with any driver"),
    "container/cluster": (("container/kube", "container/agent", "container/sandbox", "container/trace"), "what the drivers of a cluster share: manifests of Pods and of their NetworkPolicies, the ways to an agent, roles, keys"),
    "container/cluster/pods": (("container/kube", "container/agent", "container/sandbox", "container/trace", "container/cluster"), "the driver `pod`: records, creation, removal, pools"),
    "container/cluster/claims": (("container/kube", "container/agent", "container/sandbox", "container/trace", "container/cluster"), "the driver `claim`, for the controller of agent-sandbox"),
    "container/direct": (("container/kube", "container/agent", "container/sandbox", "container/trace"), "the driver `direct`, for an agent that somebody else runs"),
    "container/local": (("container/process", "container/agent", "container/sandbox", "container/trace"), "the driver `local`: agents on this machine"),
    "container/mcp": (("container/agent", "container/sandbox", "container/trace"), "sandboxes for clients of the Model Context Protocol"),
    "container/serve/gateway": (("container/agent", "container/trace"), "the way of requests to sandboxes: which is meant, previews in browsers, waking, passing on"),
    "container/serve": (("container/kube", "container/agent", "container/sandbox", "container/trace", "container/serve/gateway"), "`skiff serve`: API keys, tenants and their sandboxes over HTTP, the API of E2B's control"),
    "container/served": (("container/kube", "container/agent", "container/sandbox", "container/trace", "container/serve"), "the driver `serve`: sandboxes of a `skiff serve`, by its URL and an API key"),
    "container/cli": ((ALL,), "the command line: parsing, flags, output, terminal"),
    "container/cli/commands": ((ALL,), "a file a subcommand"),
}

# (file, what it includes all the same): why.
EXCEPTIONS = {
    ("fs/archive/archive.cpp", "fs/search/walk.hpp"): "an archive holds what a walk finds",
    ("sessions/output/log.hpp", "sessions/process/exit_status.hpp"): "a log ends with how its command ended",
    ("runtime/auth/credentials.hpp", "runtime/settings.hpp"): "which credentials there are is set by settings",
    ("runtime/api/commands/run_routes.cpp", "runtime/api/sockets/socket_routes.hpp"): "/v1/shell is a command on a WebSocket",
    ("runtime/api/routes.cpp", "runtime/dialects/mcp/routes.hpp"): "/mcp is on the agent's own port",
    ("container/sandbox/driver.hpp", "container/kube/object.hpp"): "a driver's manifest is a list of objects",
    ("container/sandbox/pools.hpp", "container/kube/object.hpp"): "the template of a pool is an object",
    ("container/sandbox/garbage.cpp", "container/kube/time.hpp"): "when a lease ends is written as the API writes times",
    ("container/cluster/namespaces.cpp", "container/cluster/claims/pools.hpp"): "which kinds the claims have depends on the version that is served",
}


def room_of(path):
    """The row of a file, by its path: the directory's own or that of the next one above; None outside of the product."""
    directory = path.rpartition("/")[0]
    while directory:
        above, _, _name = directory.rpartition("/")
        if directory in ARROWS or f"{above}/*" in ARROWS:
            return directory
        directory = above
    return None


def row_of(room):
    above, _, _name = room.rpartition("/")
    return ARROWS.get(room) or ARROWS[f"{above}/*"]


def is_one_of(room, patterns):
    return any(room == pattern or (pattern.endswith("/*") and re.fullmatch(re.escape(pattern[:-1]) + "[^/]+", room))
               for pattern in patterns)


def may_use(room, other):
    """Whether files of `room` may include files of `other`."""
    layer, other_layer = room.split("/")[0], other.split("/")[0]
    if room == other or (layer != other_layer and other_layer in LAYERS[layer]):
        return True
    return layer == other_layer and (ALL in row_of(room)[0] or is_one_of(other, row_of(room)[0]))
